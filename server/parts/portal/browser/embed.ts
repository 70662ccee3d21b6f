import { html } from "../../../shared/browser/html.ts";
import { there } from "./ask.ts";
import { ErrorBand } from "./bands.ts";
import { choiceOf } from "./choice.ts";
import { load } from "./explore-data.ts";
import { useDatasets, useLoaded } from "./load.ts";
import { Nothing } from "./notes.ts";
import { Charges, States, Years } from "./pictures.ts";
import { Sentence, titleText } from "./sentence.ts";
import { writtenAt } from "./settings.ts";

/** A page with one picture, for frames on other sites. Its address has the choices, like that of the Explore page. */

const pictures = { charges: Charges, states: States, years: Years };

export function Page({ url }: { url: URL }) {
  const choice = choiceOf(url);
  const { view, failure, retry } = useLoaded(JSON.stringify(choice), () => load(choice));
  const datasets = useDatasets(view !== null);
  if (!view)
    return html`<div class="embed">
      <div class="sentence" dangerouslySetInnerHTML=${{ __html: writtenAt(url) }}></div>
      ${failure && html`<${ErrorBand} failure=${failure} retry=${retry} isBlank />`}
    </div>`;
  const picture = pictures[url.pathname.split("/")[2] as keyof typeof pictures];
  const scope = there(view.scope);
  return html`<div class="embed">
    <div class="sentence">${
      scope
        ? html`<${Sentence} choice=${choice} scope=${scope} pinned=${view.pinned} />`
        : html`<${Nothing} view=${view} datasets=${datasets} />`
    }</div>
    <${picture} view=${view} datasets=${datasets} />
    <p class="quiet small"><a href=${`/${url.search}`} target="_blank">${titleText(view)}</a>${scope?.source.caveat && ` · ${scope.source.caveat}`}</p>
  </div>`;
}
