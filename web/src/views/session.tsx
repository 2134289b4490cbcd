export function Session({ id }: { id: string }) {
  return <h1>Session {id}</h1>;
}
