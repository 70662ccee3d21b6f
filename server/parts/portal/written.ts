import { ApiError } from "../../api/errors.ts";
import { headOf, jsonElement } from "../../shared/web-assets.ts";
import { type Ask, Failure, isAbsence, type Known } from "./browser/answers.ts";
import type { Draw, PageSettings } from "./browser/context.ts";
import { tabTitle } from "./browser/words.ts";

/**
 * Writes the numbers for a URL into the page, for link previews, browsers without JavaScript and a first view without
 * requests. The browser's components draw it, and the page gets the answers from which they draw it again.
 */

// Not a plain import: the components' types bring those of a browser, which the server's type check must not have.
const { draw }: { draw: Draw } = await import(new URL("browser/draw.ts", import.meta.url).href);

/** Answers a request of a page. @throws ApiError */
type Read = (path: string, query: string) => object;

/** The parts of a page's HTML that depend on its address. */
export interface Written {
  head: string;
  /** The pieces of the element `body`. */
  body: readonly string[];
}

/**
 * Writes a page as it is before its numbers are there.
 * @param path the path, or its pattern @param title,description plain text
 */
export function writeBlank(
  path: string,
  title: string,
  description: string,
  settings: PageSettings,
): Written {
  const { body } = draw(path, "", settings, null);
  return { head: headOf(title, description), body: bodyOf(body, {}) };
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
  read: Read,
): Written & { isMissing: boolean } {
  const answers = new Map<string, object | Failure>();
  const answerAt = (target: string) => {
    const answer = answers.get(target) ?? answerOf(target, read);
    answers.set(target, answer);
    return answer;
  };
  const ask: Ask = <Answers extends object[]>(...paths: { [I in keyof Answers]: string }) =>
    paths.map(answerAt) as { [I in keyof Answers]: Answers[I] | Failure };
  const { title, description, body, isMissing } = draw(path, query && `?${query}`, settings, ask);
  const known: Known = {};
  for (const [target, answer] of answers)
    known[target] =
      answer instanceof Failure
        ? {
            failed: [
              answer.status,
              answer.type,
              answer.message,
              { param: answer.param, places: answer.places, absent: answer.absent },
            ],
          }
        : { answer };
  return { head: headOf(tabTitle(title), description), body: bodyOf(body, known), isMissing };
}

const bodyOf = (drawn: string, known: Known) => [
  '<body><div id="app">',
  drawn,
  "</div>",
  jsonElement("answers", known),
  "</body>",
];

/** @throws ApiError if not only the data is absent */
function answerOf(target: string, read: Read): object | Failure {
  const [path, query = ""] = target.split("?");
  try {
    return read(path, query);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, param, places, absent } = error;
    const failure = new Failure(Number.parseInt(status, 10), type, message, { param, places, absent });
    if (!isAbsence(failure)) throw error;
    return failure;
  }
}
