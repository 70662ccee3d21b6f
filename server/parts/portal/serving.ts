import { isUtf8 } from "node:buffer";
import { MIMEType } from "node:util";
import { ApiError, constantError } from "../../api/errors.ts";
import { AnswerCache } from "../../serving/answer-cache.ts";
import { clientAddress, clientOf } from "../../serving/client-address.ts";
import { type Coding, codedForm, codingOf, formOf } from "../../serving/negotiation.ts";
import { maxTurnMs } from "../../serving/page-orders.ts";
import type { MakePages, PagesContext, WrittenPage } from "../../serving/pages-part.ts";
import type { PostHandler } from "../../serving/posts.ts";
import { listIn, type Reply, type RequestHead } from "../../serving/reply.ts";
import { type After, afterTimeout } from "../../serving/streaming.ts";
import type { PortalReply, WebFile } from "../../shared/messages.ts";
import { http } from "../../shared/runtime.ts";
import { WorkBudget } from "../../shared/work-budget.ts";
import { parameterNames } from "./browser/choice.ts";
import { missingPage, PageFiles } from "./page-files.ts";
import { tooMany } from "./rate-limits.ts";
import { errorReply, unavailable } from "./reply.ts";

/** Answers requests for the portal's pages and assets, and passes posts to the control thread. */

/**
 * Milliseconds of CPU time per second that the page thread may spend on a serving thread's pages. The limit is needed
 * because requests for pages have no key, and may slow down other requests in a container.
 */
export const writingMsPerSecond = 100;
/** Milliseconds of unused CPU time that may be saved up for later pages. */
export const maxWritingMs = 500;

export const pages: MakePages = (context) => {
  const writing = new WorkBudget(writingMsPerSecond, maxWritingMs);
  let portal = new Portal([], context, writing);
  return {
    respond: (request, path, method, hasBody) => portal.reply(request, path, method, hasBody),
    postsBelow: "/portal/",
    posts: portalPosts(context),
    forget: () => portal.forget(),
    show(files) {
      portal = new Portal(files, context, writing);
    },
  };
};

export class Portal {
  readonly #files: PageFiles;
  readonly #context: Pick<PagesContext, "write">;
  readonly #writing: WorkBudget;
  readonly #nowMs: () => number;
  readonly #after: After;
  #pages = new WrittenPages();

  /** @param writing the budget for writing numbers into pages @param nowMs returns milliseconds of a monotonic clock */
  constructor(
    files: readonly WebFile[],
    context: Pick<PagesContext, "write">,
    writing: WorkBudget,
    nowMs = () => performance.now(),
    after = afterTimeout,
  ) {
    this.#after = after;
    this.#context = context;
    this.#writing = writing;
    this.#nowMs = nowMs;
    this.#files = new PageFiles(files);
  }

  /** @param path the URL's path, undecoded */
  reply(request: RequestHead, path: string, method: string, hasBody: boolean): Reply {
    if (method !== "GET" && method !== "HEAD")
      return plain("405 Method Not Allowed", "only GET and HEAD are allowed here\n", "Allow: GET, HEAD");
    if (hasBody) return plain("400 Bad Request", "a request for a page can't have a body\n");
    const found = this.#files.find(path);
    const accepted = listIn(request, "accept-encoding");
    if (found === undefined) {
      const withoutSlash = path.replace(/\/$/, "");
      if (withoutSlash !== path && this.#files.find(withoutSlash) !== undefined)
        return moved(withoutSlash, request.getQuery() ?? "");
      const { head, body } = formOf(this.#files.page(missingPage), accepted, "");
      return { status: 404, head: `404 Not Found\r\n${head}`, body };
    }
    const condition = listIn(request, "if-none-match");
    const coding = codingOf(accepted);
    const written = this.#written(found, path, request, coding);
    const replyWith = (page: Written | undefined) =>
      page === undefined
        ? fileReply(formOf(found, accepted, condition))
        : pageReply(page, found.head, coding, condition);
    if (written instanceof Promise)
      return { status: 0, head: "", body: undefined, later: written.then(replyWith) };
    return replyWith(written);
  }

  /** Forgets the pages that are written or being written, because they have the numbers of earlier data. */
  forget(): void {
    this.#pages = new WrittenPages();
  }

  /**
   * Returns the page with the numbers for a URL, which is kept or which the page thread writes. Undefined means that the
   * page is sent without numbers.
   */
  #written(
    page: WebFile,
    path: string,
    request: RequestHead,
    coding: Coding,
  ): Written | undefined | Promise<Written | undefined> {
    if (page.template === undefined) return undefined;
    const query = request.getQuery() ?? "";
    const known = knownQuery(query);
    const key = known === undefined ? undefined : `${coding} ${path}?${known}`;
    const pages = this.#pages;
    const found = key === undefined ? undefined : (pages.kept.get(key) ?? pages.ordered.get(key));
    if (found !== undefined) return found;
    if (!this.#writing.hasLeft(this.#nowMs())) return undefined;
    const order = this.#context.write({ path, query: known ?? query, coding });
    if (order === undefined) return undefined;
    const written = order.then(({ page: made, cpuMs }): Written | undefined => {
      this.#writing.spend(cpuMs);
      if (key !== undefined) pages.ordered.delete(key);
      if (made === undefined) return undefined;
      const whole = { ...made, bodyBytes: made.body.length };
      if (key !== undefined && !made.isMissing) pages.kept.keep(key, whole);
      return whole;
    });
    const given = this.inTime(written);
    if (key !== undefined) pages.ordered.set(key, given);
    return given;
  }

  /**
   * Resolves to undefined if the page thread doesn't write the page in time. If the page is finished later, it can be
   * kept for further requests.
   */
  inTime(written: Promise<Written | undefined>): Promise<Written | undefined> {
    return new Promise((resolve) => {
      const cancel = this.#after(maxTurnMs, () => resolve(undefined));
      void written.then((whole) => {
        cancel();
        resolve(whole);
      });
    });
  }
}

class WrittenPages {
  readonly kept = new AnswerCache<string, Written>();
  /** Pages that the page thread hasn't written yet. Further requests wait no longer than the first request for the page. */
  readonly ordered = new Map<string, Promise<Written | undefined>>();
}

function pageReply(page: Written, head: string, coding: Coding, condition: string): Reply {
  const form = codedForm({ ...page, head }, coding, page.isMissing ? "" : condition);
  return page.isMissing
    ? { status: 404, head: `404 Not Found\r\n${form.head}`, body: form.body }
    : fileReply(form);
}

function fileReply({ head, body }: ReturnType<typeof formOf>): Reply {
  if (body === undefined) return { status: 304, head: `304 Not Modified\r\n${head}`, body };
  return { status: 200, head: `200 OK\r\n${head}`, body };
}

interface Written extends WrittenPage {
  bodyBytes: number;
}

/**
 * Returns a query with its parameters in a fixed order, so that equal pages have equal URLs. Returns undefined if a
 * parameter isn't known.
 */
function knownQuery(query: string): string | undefined {
  const asked = new URLSearchParams(query);
  const known = parameterNames.flatMap((name) =>
    asked.getAll(name).map((value): [string, string] => [name, value]),
  );
  return known.length === asked.size ? new URLSearchParams(known).toString() : undefined;
}

function moved(path: string, query: string): Reply {
  const to = query === "" ? path : `${path}?${query}`;
  return plain("308 Permanent Redirect", `this page is at ${path}\n`, `Location: ${to}`);
}

function plain(status: string, text: string, ...headers: string[]): Reply {
  const lines = [status, "Content-Type: text/plain; charset=utf-8", "Cache-Control: no-store", ...headers];
  return { status: Number.parseInt(status, 10), head: lines.join("\r\n"), body: Buffer.from(text) };
}

export function portalPosts({ trustedProxies, ask, report }: Omit<PagesContext, "write">): PostHandler {
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
