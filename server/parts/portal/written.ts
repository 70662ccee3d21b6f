import { headOf, scriptJson } from "../../shared/web-assets.ts";
import type { Ask, Failure } from "./browser/answers.ts";
import type { Draw, PageSettings } from "./browser/context.ts";
import { tabTitle } from "./browser/words.ts";
import type { PageAnswers } from "./page-answers.ts";

/**
 * Writes pages, with the browser's components. A page with numbers contains the API's answers from which it is drawn, so
 * that the script can draw it again without requests.
 */

// With a static import, the server's type check would get a browser's types.
const { draw }: { draw: Draw } = await import(new URL("browser/draw.ts", import.meta.url).href);

export interface Written {
  head: string;
  /** The HTML of the element `body`, in pieces. */
  body: readonly string[];
}

/** @param path the path, or its pattern @param title,description plain text */
export function writeBlank(
  path: string,
  title: string,
  description: string,
  settings: PageSettings,
): Written {
  const { body } = draw(path, "", settings, null);
  return { head: headOf(title, description), body: bodyOf(body, []) };
}

/**
 * Writes the numbers for a URL.
 * @param path the undecoded path of the Explore page, a hospital or a picture @param query undecoded
 * @returns the page, and whether the hospital of the path isn't in the data
 */
export function write(
  path: string,
  query: string,
  settings: PageSettings,
  answers: PageAnswers,
): Written & { isMissing: boolean } {
  const used = new Map<string, { answer: object | Failure; json: string }>();
  const answerAt = (target: string) => {
    const found = used.get(target) ?? answers.at(target);
    used.set(target, found);
    return found.answer;
  };
  const ask: Ask = <Answers extends object[]>(...paths: { [I in keyof Answers]: string }) =>
    paths.map(answerAt) as { [I in keyof Answers]: Answers[I] | Failure };
  const { title, description, body, isMissing } = draw(path, query && `?${query}`, settings, ask);
  const known = Array.from(used, ([target, { json }], i) => [
    `${i > 0 ? "," : ""}${scriptJson(target)}:`,
    json,
  ]);
  return { head: headOf(tabTitle(title), description), body: bodyOf(body, known.flat()), isMissing };
}

/** @param known the content of a JSON object of the type `Known`, in pieces */
const bodyOf = (drawn: string, known: readonly string[]) => [
  '<body><div id="app">',
  drawn,
  '</div><script type="application/json" id="answers">{',
  ...known,
  "}</script></body>",
];
