import { defineConfig } from "vite";

// Three files with fixed names: the server gives them an ETag, and `aur ui --export` puts them into one.
export default defineConfig({
  build: {
    outDir: "../src/aurora/web/page",
    emptyOutDir: true,
    target: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark()
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" }, // of what is inside
    rolldownOptions: {
      output: { entryFileNames: "page.js", assetFileNames: "page[extname]", codeSplitting: false },
    },
  },
});
