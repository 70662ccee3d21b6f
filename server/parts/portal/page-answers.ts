import { ApiError } from "../../api/errors.ts";
import { AnswerCache } from "../../serving/answer-cache.ts";
import type { Read } from "../../serving/pages-part.ts";
import { scriptJson } from "../../shared/web-assets.ts";
import { Failure, isAbsence, type Known } from "./browser/answers.ts";

/**
 * Computes the answers from which pages are written. Keeps the answers that pages share, such as the prices of a procedure
 * in the nation.
 */

/**
 * Matches answers that pages hardly ever share: those about hospitals, a place or a search, and further pages of lists. If
 * they were kept, they would evict the shared answers.
 */
const hardlyShared = /\/(facilities|search|pages)\b|[?&](state|near)=/;

interface PageAnswer {
  answer: object | Failure;
  /** The answer for the page's script, as JSON; see `Known`. */
  json: string;
  bodyBytes: number;
}

export class PageAnswers {
  readonly #read: Read;
  readonly #kept = new AnswerCache<string, PageAnswer>();

  constructor(read: Read) {
    this.#read = read;
  }

  /** A 400 or 404 becomes a `Failure`. @param target path and query @throws ApiError for other faults */
  at(target: string): PageAnswer {
    const kept = this.#kept.get(target);
    if (kept !== undefined) return kept;
    const answer = this.#answerOf(target);
    const json = scriptJson(knownOf(answer));
    // The object takes about as much memory as its text.
    const made = { answer, json, bodyBytes: 2 * json.length };
    if (!hardlyShared.test(target)) this.#kept.keep(target, made);
    return made;
  }

  forget(): void {
    this.#kept.clear();
  }

  #answerOf(target: string): object | Failure {
    const [path, query = ""] = target.split("?");
    try {
      return this.#read(path, query);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status, type, message, param, places, absent } = error;
      const failure = new Failure(Number.parseInt(status, 10), type, message, { param, places, absent });
      if (!isAbsence(failure)) throw error;
      return failure;
    }
  }
}

function knownOf(answer: object | Failure): Known[string] {
  if (!(answer instanceof Failure)) return { answer };
  const { status, type, message, param, places, absent } = answer;
  return { failed: [status, type, message, { param, places, absent }] };
}
