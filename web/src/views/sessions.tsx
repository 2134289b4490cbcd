export function Sessions() {
  return <h1>Sessions</h1>;
}
