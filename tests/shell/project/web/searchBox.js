// The search field: asks while you type, but not for every letter.

const DELAY = 150;

export function debounce(callback, delay = DELAY) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => callback(...values), delay);
  };
}

export function attachSearch(field, list) {
  field.addEventListener(
    "input",
    debounce(async () => {
      const answer = await fetch(`/api/v2/search?q=${encodeURIComponent(field.value)}`);
      list.replaceChildren(...(await answer.json()).map(toItem));
    }),
  );
}

function toItem(result) {
  const item = document.createElement("li");
  item.textContent = `${result.file}: ${result.name}`;
  return item;
}
