export function Health() {
  return <h1>Health</h1>;
}
