import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import { MIMEType } from "node:util";
import { ApiError, constantError } from "../../api/errors.ts";
import { AnswerCache } from "../../serving/answer-cache.ts";
import { clientAddress, clientOf } from "../../serving/client-address.ts";
import { type Coding, codingOf, compress, formOf } from "../../serving/negotiation.ts";
import type { MakePages, PagesContext } from "../../serving/pages-part.ts";
import type { PostHandler } from "../../serving/posts.ts";
import { listIn, type Reply, type RequestHead } from "../../serving/reply.ts";
import type { PageTemplate, PortalReply, WebFile } from "../../shared/messages.ts";
import { http } from "../../shared/runtime.ts";
import { WorkBudget } from "../../shared/work-budget.ts";
import { parameterNames } from "./browser/choice.ts";
import type { PageSettings } from "./browser/context.ts";
import { PageAnswers } from "./page-answers.ts";
import { embedPage, facilityPage, missingPage } from "./pages.ts";
import { tooMany } from "./rate-limits.ts";
import { errorReply, unavailable } from "./reply.ts";
import { write } from "./written.ts";

/** Answers requests for the portal's pages and assets, and passes its posts to the control thread. */

/**
 * Milliseconds per second in which a thread may write numbers into pages. A page takes 1 to 6 ms. No key limits these
 * requests, so others must hardly notice them.
 */
export const writingMsPerSecond = 100;
/** Milliseconds of writing that may be saved up. Written at once, they delay other answers. */
export const maxWritingMs = 10;
/** Maximum bytes in UTF-8 of a character of a text. */
const maxLetterBytes = 3;
/** Milliseconds of writing at the start, when a page takes up to 30 ms because its code isn't compiled yet. */
const firstWritingMs = 500;

export const pages: MakePages = (context) => {
  const writing = new WorkBudget(writingMsPerSecond, maxWritingMs, firstWritingMs);
  let portal = new Portal([], context, writing);
  return {
    respond: (request, path, method, hasBody) => portal.reply(request, path, method, hasBody),
    postsBelow: "/portal/",
    posts: portalPosts(context),
    warm: (path, query) => portal.warm(path, query),
    forget: () => portal.forget(),
    show(files) {
      portal = new Portal(files, context, writing);
    },
  };
};

export class Portal {
  readonly #files: ReadonlyMap<string, WebFile>;
  readonly #report: PagesContext["report"];
  readonly #answers: PageAnswers;
  readonly #writing: WorkBudget;
  readonly #nowMs: () => number;
  readonly #kept = new AnswerCache<string, Written>();
  #scratch = Buffer.alloc(0);

  /** @param writing the budget for writing numbers into pages @param nowMs milliseconds of a steady clock */
  constructor(
    files: readonly WebFile[],
    { read, report }: Pick<PagesContext, "read" | "report">,
    writing: WorkBudget,
    nowMs = () => performance.now(),
  ) {
    this.#report = report;
    this.#answers = new PageAnswers(read);
    this.#writing = writing;
    this.#nowMs = nowMs;
    this.#files = new Map(files.map((file) => [file.path, file]));
  }

  /** Replies to a request for a page or an asset. @param path the URL's path, undecoded */
  reply(request: RequestHead, path: string, method: string, hasBody: boolean): Reply {
    if (method !== "GET" && method !== "HEAD")
      return plain("405 Method Not Allowed", "only GET and HEAD are allowed here\n", "Allow: GET, HEAD");
    if (hasBody) return plain("400 Bad Request", "a request for a page can't have a body\n");
    const found = this.#find(path);
    const accepted = listIn(request, "accept-encoding");
    if (found === undefined) {
      const withoutSlash = path.replace(/\/$/, "");
      if (withoutSlash !== path && this.#find(withoutSlash) !== undefined)
        return moved(withoutSlash, request.getQuery() ?? "");
      const { head, body } = formOf(this.#page(missingPage), accepted, "");
      return { status: 404, head: `404 Not Found\r\n${head}`, body };
    }
    const { page, isMissing } = this.#written(found, path, request, codingOf(accepted));
    const { head, body } = formOf(page, accepted, isMissing ? "" : listIn(request, "if-none-match"));
    if (isMissing) return { status: 404, head: `404 Not Found\r\n${head}`, body };
    if (body === undefined) return { status: 304, head: `304 Not Modified\r\n${head}`, body };
    return { status: 200, head: `200 OK\r\n${head}`, body };
  }

  #find(path: string): WebFile | undefined {
    return (
      (path === missingPage ? undefined : this.#files.get(path)) ??
      (/^\/facilities\/[^/]+$/.test(path) ? this.#page(facilityPage) : undefined) ??
      (/^\/embed(\/(charges|states|years|hospitals))?$/.test(path) ? this.#files.get(embedPage) : undefined)
    );
  }

  /** Writes a page for nobody, outside the budget. */
  warm(path: string, query: string): void {
    const page = this.#find(path);
    if (page?.template !== undefined) this.#write(page, page.template, path, query, "br");
  }

  /** Forgets the written pages and the answers in them, because they have the numbers of earlier data versions. */
  forget(): void {
    this.#kept.clear();
    this.#answers.forget();
  }

  /** Writes the numbers for a URL into a page. Beyond the budget, or after an error, returns the page unchanged. */
  #written(page: WebFile, path: string, request: RequestHead, coding: Coding): Written {
    const unchanged = { page, isMissing: false, bodyBytes: 0 };
    if (page.template === undefined) return unchanged;
    const query = request.getQuery() ?? "";
    const known = knownQuery(query);
    const key = `${coding} ${path}?${known}`;
    const kept = known === undefined ? undefined : this.#kept.get(key);
    if (kept !== undefined) return kept;
    const begunMs = this.#nowMs();
    if (!this.#writing.hasLeft(begunMs)) return unchanged;
    try {
      const written = this.#write(page, page.template, path, known ?? query, coding);
      if (known !== undefined && !written.isMissing) this.#kept.keep(key, written);
      return written;
    } catch (error) {
      this.#report(error);
      return unchanged;
    } finally {
      this.#writing.spend(this.#nowMs() - begunMs);
    }
  }

  #write(page: WebFile, template: PageTemplate, path: string, query: string, coding: Coding): Written {
    const settings: PageSettings = JSON.parse(template.settings);
    const { head, body: drawn, isMissing } = write(path, query, settings, this.#answers);
    const { parts } = template;
    const body = this.#encode([parts[0], head, parts[1], ...drawn, parts[2]]);
    const coded = coding === "identity" ? body : compress(body, coding);
    return {
      page: {
        ...page,
        bodies: { identity: body, [coding]: coded },
        // The compressed page is a fifth as long, and has this tag in no other coding.
        etag: `"${hash("sha256", coded, "base64url").slice(0, 22)}"`,
      },
      isMissing,
      bodyBytes: body.length,
    };
  }

  /**
   * Encodes pieces of a page as UTF-8. `Buffer.from` would take twice as long, and pieces joined as a text several times
   * as long, because one letter beyond Latin-1 makes all of a text slow.
   */
  #encode(pieces: readonly string[]): Uint8Array {
    const most = pieces.reduce((sum, { length }) => sum + maxLetterBytes * length, 0);
    if (this.#scratch.length < most) this.#scratch = Buffer.allocUnsafeSlow(most);
    let length = 0;
    for (const piece of pieces) length += this.#scratch.write(piece, length);
    return new Uint8Array(this.#scratch.subarray(0, length));
  }

  #page(path: string): WebFile {
    const page = this.#files.get(path);
    if (page === undefined) throw new Error(`the portal has no page ${path}`);
    return page;
  }
}

/** A page with the numbers for an address. */
interface Written {
  page: WebFile;
  /** Whether it is of a hospital that isn't in the data. */
  isMissing: boolean;
  bodyBytes: number;
}

/** Returns a query's parameters in one order, so that equal pages have equal addresses; undefined if one isn't known. */
function knownQuery(query: string): string | undefined {
  const asked = new URLSearchParams(query);
  const known = parameterNames.flatMap((name) =>
    asked.getAll(name).map((value): [string, string] => [name, value]),
  );
  return known.length === asked.size ? new URLSearchParams(known).toString() : undefined;
}

/** Leads to a page whose path has no slash at its end. */
function moved(path: string, query: string): Reply {
  const to = query === "" ? path : `${path}?${query}`;
  return plain("308 Permanent Redirect", `this page is at ${path}\n`, `Location: ${to}`);
}

function plain(status: string, text: string, ...headers: string[]): Reply {
  const lines = [status, "Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store", ...headers];
  return { status: Number.parseInt(status, 10), head: lines.join("\r\n"), body: Buffer.from(text) };
}

export function portalPosts({ trustedProxies, ask, report }: Omit<PagesContext, "read">): PostHandler {
  return {
    clientOf: (head) => clientOf(clientAddress(head, trustedProxies)),
    busy: (who) =>
      failure(who === "client" ? tooMany("too many posts from your address at once", 1) : tooManyPosts),
    failed(error, requestId) {
      report(error, requestId);
      return failure(constantError("internal_error"));
    },
    async reply(post, requestId) {
      const { path, authorization, contentType, body } = post;
      if (body === undefined)
        return failure(new ApiError("body_too_large", "a body has at most 16384 bytes"));
      // Another origin's page can't send JSON without a CORS preflight.
      if (!isJson(contentType)) return failure(notJson);
      if (!isUtf8(body)) return failure(new ApiError("invalid_parameter", "the body isn't UTF-8"));
      const address = clientAddress(post, trustedProxies);
      const text = new TextDecoder().decode(body);
      return jsonReply(await ask({ path, body: text, authorization, address, requestId }));
    },
  };
}

const tooManyPosts = unavailable("too many posts at once; try again", 1);
const notJson = new ApiError(
  "unsupported_media_type",
  "a body is JSON in UTF-8: send Content-Type: application/json",
);

function isJson(contentType: string): boolean {
  try {
    const { essence, params } = new MIMEType(contentType);
    return essence === "application/json" && /^utf-?8$/i.test(params.get("charset") ?? "utf-8");
  } catch {
    return false;
  }
}

function jsonReply({ status, body, headers = {} }: PortalReply): Reply {
  const lines = Object.entries({
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  return {
    status,
    head: [`${status} ${http.STATUS_CODES[status]}`, ...lines].join("\r\n"),
    body: Buffer.from(JSON.stringify(body)),
  };
}

function failure(error: ApiError): Reply {
  return jsonReply(errorReply(error));
}
