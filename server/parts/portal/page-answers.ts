import { ApiError } from "../../api/errors.ts";
import { AnswerCache } from "../../serving/answer-cache.ts";
import type { Read } from "../../serving/pages-part.ts";
import { scriptJson } from "../../shared/web-assets.ts";
import { Failure, isAbsence, type Known } from "./browser/answers.ts";

/**
 * Answers what pages are written from. It keeps the answers that pages share, such as the prices of a procedure in the
 * nation.
 */

/**
 * Answers of a place, a hospital or a search, which pages hardly ever share. Kept, they would push out the shared answers,
 * and cost the garbage collection more than all else.
 */
const hardlyShared = /\/(facilities|search|pages)\b|[?&](state|near)=/;

interface PageAnswer {
  answer: object | Failure;
  /** What the page's script gets of it; see `Known`. */
  json: string;
  bodyBytes: number;
}

export class PageAnswers {
  readonly #read: Read;
  readonly #kept = new AnswerCache<string, PageAnswer>();

  constructor(read: Read) {
    this.#read = read;
  }

  /** @param target path and query @throws ApiError for every fault but absent data */
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

  /** Forgets the answers of earlier data versions. */
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
