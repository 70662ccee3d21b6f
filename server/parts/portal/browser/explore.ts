import { useEffect } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import type { Failure } from "./api.ts";
import { there } from "./ask.ts";
import { ErrorBand, SampleBand } from "./bands.ts";
import { Chips } from "./chips.ts";
import { choiceOf } from "./choice.ts";
import { Controls } from "./controls.ts";
import { load, type PartProps } from "./explore-data.ts";
import { Facilities } from "./facilities.ts";
import { useDatasets, useLoaded } from "./load.ts";
import { Nothing, Reading } from "./notes.ts";
import { Charges, States, Years } from "./pictures.ts";
import { Sentence, titleText } from "./sentence.ts";
import { writtenAt } from "./settings.ts";
import { tabTitle } from "./words.ts";

/** Shows a procedure's prices in a sentence, in pictures and as a list. The address holds every choice. */

export function Page({ url }: { url: URL }) {
  const choice = choiceOf(url);
  const { view, failure, isLate, isOld, retry } = useLoaded(JSON.stringify(choice), () => load(choice));
  const datasets = useDatasets(view !== null);
  const title = view && titleText(view);
  useEffect(() => {
    if (title) document.title = tabTitle(title);
  }, [title]);
  const shown = isOld ? (title ?? undefined) : undefined;
  return html`<div class=${`explore ${isLate || isOld ? "late" : ""}`} aria-busy=${isLate}>
    <${Controls} choice=${choice} view=${view} datasets=${datasets} />
    ${failure && html`<${ErrorBand} failure=${failure} retry=${retry} shown=${shown} isBlank=${view === null} />`}
    ${shown && !failure && html`<p class="still" role="status">Still showing ${shown}…</p>`}
    ${view ? html`<${Shown} view=${view} datasets=${datasets} />` : html`<${Blank} url=${url} failure=${failure} />`}
  </div>`;
}

/** The layout before the first answer, so that nothing moves then. */
function Blank({ url, failure }: { url: URL; failure: Failure | null }) {
  if (failure)
    return html`<div class="sentence"><h1>What hospitals charge</h1><p class="under quiet">No numbers can be shown until this is solved.</p></div>`;
  return html`<div class="sentence" dangerouslySetInnerHTML=${{ __html: writtenAt(url) }}></div>
    <div class="pictures" aria-hidden="true">
      <div class="card blank"></div>
      <div class="card blank"></div>
    </div>`;
}

function Shown({ view, datasets }: PartProps) {
  const { choice, pinned } = view;
  const scope = there(view.scope);
  const known = scope ?? there(view.nation);
  // The band is below everything that was on screen before the first answer, so that nothing moves.
  return html`<div class="sentence" aria-live="polite">
      ${
        scope
          ? html`<${Sentence} choice=${choice} scope=${scope} pinned=${pinned} />`
          : html`<${Nothing} view=${view} datasets=${datasets} />`
      }
      <${Chips} choice=${choice} pinned=${pinned} />
    </div>
    <${SampleBand} caveat=${known?.source.caveat} />
    <div class="pictures">
      <${Charges} view=${view} datasets=${datasets} />
      <${States} view=${view} datasets=${datasets} />
      ${scope && html`<${Facilities} view=${view} scope=${scope} />`}
      <${Years} view=${view} datasets=${datasets} />
      ${scope && html`<${Reading} scope=${scope} view=${view} datasets=${datasets} />`}
    </div>`;
}
