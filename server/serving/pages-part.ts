import type { PortalReply, PortalRequest, WebFile } from "../shared/messages.ts";
import type { Coding } from "./negotiation.ts";
import type { PostHandler } from "./posts.ts";
import type { Respond } from "./responder.ts";

/** The interface between the server's threads and the part that serves pages in addition to the API. */

/** A part's serving module exports a function of this type as `pages`. */
export type MakePages = (context: PagesContext) => ServingPages;

export interface PagesContext {
  trustedProxies: number;
  /**
   * Passes a post to the control thread.
   * @throws Error when the control thread has failed to reply and logged the reason
   */
  ask(request: PortalRequest): Promise<PortalReply>;
  /**
   * Lets the page thread write a page. Returns undefined if no page thread runs or too many pages wait. Never rejects.
   */
  write(wanted: WantedPage): Promise<WritingResult> | undefined;
  report(error: unknown, requestId?: string): void;
}

export interface ServingPages {
  /** Answers any path that isn't the API's. */
  readonly respond: Respond;
  /** The path below which posts are allowed. It ends with a slash. */
  readonly postsBelow: string;
  readonly posts: PostHandler;
  /** Forgets what was written from the data versions that were served before. */
  forget(): void;
  show(files: readonly WebFile[]): void;
}

/** A part's writing module, which runs in the page thread, exports a function of this type as `writing`. */
export type MakeWriting = (read: Read) => PageWriting;

/**
 * Answers a request. Checks no key and no ceilings. Path and query are undecoded.
 * @returns the answer before it is written as JSON
 * @throws ApiError
 */
export type Read = (path: string, query: string) => object;

export interface PageWriting {
  /** Writes the numbers for a URL into a page. @throws ApiError for faults other than absent data and invalid parameters */
  write(wanted: WantedPage): WrittenPage;
  /** Forgets what it keeps of the data versions that were served before. */
  forget(): void;
  show(files: readonly WebFile[]): void;
}

export interface WantedPage {
  /** Path and query are undecoded. */
  path: string;
  query: string;
  coding: Coding;
}

export interface WrittenPage {
  /** The body in the wanted coding. It has memory of its own, which is transferred to a serving thread. */
  body: Uint8Array<ArrayBuffer>;
  etag: string;
  /** Whether the page is about a hospital that isn't in the data. */
  isMissing: boolean;
}

export interface WritingResult {
  /** Undefined if the page waited too long, writing it failed, or the page thread has ended. */
  page: WrittenPage | undefined;
  cpuMs: number;
}
