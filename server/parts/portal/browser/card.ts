import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { Dataset } from "./answers.ts";
import { asFailure } from "./api.ts";
import { Command, copied, curlOf } from "./curl.ts";
import type { Pinned } from "./explore-data.ts";
import { csvFile, type Figures, FiguresTable, save } from "./figures.ts";
import type { PictureFormat } from "./save-picture.ts";

/** Frames a picture, with ways to save and share it: as a picture, as CSV, as a table, by curl and by link. */

interface CardProps {
  title: string;
  /** What the picture shows, in one line. */
  about: ComponentChildren;
  /** Name of the files to save, without an ending. */
  name: string;
  /** The picture's numbers; undefined until they are loaded. */
  figures?: Figures | undefined;
  /** Path of the API that the numbers are from. */
  path?: string | undefined;
  isTable?: boolean;
  /** Another way to save the CSV, where the picture shows only a part. */
  csv?: { title: string; save: () => Promise<void> } | undefined;
  /** The caption of a saved picture; undefined where there is no picture. */
  source?: string | undefined;
  /** Permanent addresses of these numbers, on the page and as a picture alone. */
  links?: { page: string; embed?: string | undefined } | undefined;
  class?: string;
  children?: ComponentChildren;
}

/** The caption of a saved picture: the hospitals behind the letters, the source and its data versions. */
export function sourceText(
  versions: readonly string[],
  datasets: readonly Dataset[],
  pinned: readonly Pinned[] = [],
): string {
  const shown = datasets.filter(({ data_version }) => versions.includes(data_version));
  const titles = [...new Set(shown.map(({ publisher, title }) => `${publisher}, ${title}`))].join("; ");
  const names = pinned.map(({ letter, ccn, entry }) => `${letter}: ${entry?.facility ?? ccn}. `).join("");
  return `${names}Source: ${titles || location.host} (version ${versions.join(", ")}). ${location.host}`;
}

export function Card(props: CardProps) {
  const { title, about, name, figures, path, isTable = false, csv, source, links, children } = props;
  const id = useId();
  const section = useRef<HTMLElement>(null);
  const [isCurl, setCurl] = useState(false);
  const [isFigures, setFigures] = useState(false);
  const [said, setSaid] = useState("");
  const act = async (work: () => Promise<string | undefined>) => {
    setSaid("");
    try {
      setSaid((await work()) ?? "");
    } catch (error) {
      setSaid(asFailure(error).message);
    }
  };
  const button = (text: string, work: () => Promise<string | undefined>) =>
    html`<button type="button" class="plain" aria-describedby=${id} onClick=${() => act(work)}>${text}</button>`;
  const saveCsv = async () => {
    if (csv) await csv.save();
    else if (figures) save(`${name}.csv`, csvFile(figures));
    return undefined;
  };
  const saveAs = (format: PictureFormat) => async () => {
    if (section.current === null || source === undefined) return undefined;
    const { savePicture } = await import("./save-picture.ts");
    const sentence = document.querySelector("h1")?.textContent ?? "";
    await savePicture(section.current, name, format, { title, sentence, source });
    return undefined;
  };
  const copy = (text: string) => async () => ((await copied(text)) ? "Copied." : text);
  const toggle = (text: string, isOn: boolean, set: (isOn: boolean) => void) =>
    html`<button type="button" class="plain" aria-expanded=${isOn} aria-describedby=${id} onClick=${() => set(!isOn)}>
      ${text}
    </button>`;
  return html`<section class=${`card ${props.class ?? ""}`} aria-labelledby=${id} ref=${section}>
    <header>
      <h2 id=${id}>${title}</h2>
      <div class="actions">
        ${source && !isFigures && html`${button("PNG", saveAs("png"))} ${button("SVG", saveAs("svg"))}`}
        ${figures && button(csv?.title ?? "CSV", saveCsv)}
        ${path && toggle("curl", isCurl, setCurl)} ${figures && !isTable && toggle("table", isFigures, setFigures)}
        ${links && button("copy link", copy(links.page))}
        ${links?.embed && button("embed", copy(`<iframe src="${links.embed}" title="${title}" width="640" height="980"></iframe>`))}
      </div>
      <p class="about quiet">${about}</p>
    </header>
    <p class="said quiet" role="status">${said}</p>
    ${isCurl && path && html`<${Command} text=${curlOf(path)} />`}
    ${isFigures && figures ? html`<${FiguresTable} figures=${figures} caption=${title} />` : children}
  </section>`;
}
