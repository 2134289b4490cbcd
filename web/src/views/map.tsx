// The project as a map: of files by their size, or of chunks by their meaning.

import { useEffect, useState } from "preact/hooks";
import { addressOf, navigate, useAddress, useGeneration, useRun } from "../hooks";
import { FilesMap } from "./files";
import "./map.css";
import { MeaningMap } from "./meaning";

const MAPS = { files: "Files by size", meaning: "Chunks by meaning" };

export function ProjectMap() {
  const { params } = useAddress();
  const by = params.get("by") === "meaning" ? "meaning" : "files";
  const generation = useSettledGeneration();
  return (
    <div class="map">
      <header class="filters">
        <h1>Map</h1>
        <p class="choices" role="group" aria-label="Which map">
          {Object.entries(MAPS).map(([name, label]) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === by}
              onClick={() => navigate(addressOf("/map", { by: name }))}
            >
              {label}
            </button>
          ))}
        </p>
      </header>
      {by === "files" ? <FilesMap generation={generation} /> : <MeaningMap generation={generation} />}
    </div>
  );
}

/** A map is large: during an index run it stays as it is. */
function useSettledGeneration(): number {
  const generation = useGeneration();
  const run = useRun();
  const [settled, setSettled] = useState(generation);
  useEffect(() => {
    if (!run) setSettled(generation);
  }, [generation, run]);
  return settled;
}
