// What the browser asks the server about accounts.

const BASE = "/api/v2";

export async function getUserData(name) {
  const answer = await fetch(`${BASE}/users/${encodeURIComponent(name)}`);
  if (!answer.ok) throw new Error(`no account ${name}`);
  return answer.json();
}

export async function saveUserData(name, values) {
  return fetch(`${BASE}/users/${encodeURIComponent(name)}`, {
    method: "PATCH",
    body: JSON.stringify(values),
  });
}

export function showUser(element, data) {
  element.querySelector(".name").textContent = data.name;
  element.querySelector(".mail").textContent = data.email;
}
