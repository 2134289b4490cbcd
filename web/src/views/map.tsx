export function ProjectMap() {
  return <h1>Map</h1>;
}
