import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { asFailure } from "./api.ts";
import { Curl } from "./curl.ts";
import { csvFile, type Figures, FiguresTable, save } from "./figures.ts";

/** Frames a picture, with its numbers as CSV, as a table and by curl. */

interface CardProps {
  title: string;
  /** What the picture shows, in one line. */
  about: ComponentChildren;
  /** Name of the CSV file, without `.csv`. */
  name: string;
  /** The picture's numbers; undefined until they are loaded. */
  figures?: Figures | undefined;
  /** Path of the API that the numbers are from. */
  path?: string | undefined;
  isTable?: boolean;
  /** Another way to save the CSV, where the picture shows only a part. */
  csv?: { title: string; save: () => Promise<void> } | undefined;
  class?: string;
  children?: ComponentChildren;
}

export function Card(props: CardProps) {
  const { title, about, name, figures, path, isTable = false, csv, children } = props;
  const id = useId();
  const [isCurl, setCurl] = useState(false);
  const [isFigures, setFigures] = useState(false);
  const [said, setSaid] = useState("");
  const saveCsv = async () => {
    setSaid("");
    try {
      if (csv) await csv.save();
      else if (figures) save(`${name}.csv`, csvFile(figures));
    } catch (error) {
      setSaid(asFailure(error).message);
    }
  };
  const toggle = (text: string, isOn: boolean, set: (isOn: boolean) => void) =>
    html`<button type="button" class="plain" aria-expanded=${isOn} aria-describedby=${id} onClick=${() => set(!isOn)}>
      ${text}
    </button>`;
  return html`<section class=${`card ${props.class ?? ""}`} aria-labelledby=${id}>
    <header>
      <h2 id=${id}>${title}</h2>
      <div class="actions">
        ${figures && html`<button type="button" class="plain" aria-describedby=${id} onClick=${saveCsv}>${csv?.title ?? "CSV"}</button>`}
        ${path && toggle("curl", isCurl, setCurl)} ${figures && !isTable && toggle("table", isFigures, setFigures)}
      </div>
      <p class="about quiet">${about}</p>
    </header>
    <p class="error" role="status">${said}</p>
    ${isCurl && path && html`<${Curl} path=${path} />`}
    ${isFigures && figures ? html`<${FiguresTable} figures=${figures} caption=${title} />` : children}
  </section>`;
}
