import type { PortalReply, PortalRequest, WebFile } from "../shared/messages.ts";
import type { PostHandler } from "./posts.ts";
import type { Respond } from "./responder.ts";

/** The interface between a serving thread and the part that serves pages beside the API. */

/** A part's serving module exports a function of this type as `pages`. */
export type MakePages = (context: PagesContext) => ServingPages;

export interface PagesContext {
  trustedProxies: number;
  /** Passes a post to the control thread. @throws Error when the control thread has failed to reply and logged why */
  ask(request: PortalRequest): Promise<PortalReply>;
  /** Answers a request without key and ceilings. @param query undecoded @returns the answer before it is written as JSON @throws ApiError */
  read(path: string, query: string): object;
  /** Logs an error. @param requestId the id of the failed request, if it is known */
  report(error: unknown, requestId?: string): void;
}

export interface ServingPages {
  /** Answers any path that isn't the API's. */
  readonly respond: Respond;
  /** The path below which posts are allowed. It ends with a slash. */
  readonly postsBelow: string;
  readonly posts: PostHandler;
  /**
   * Writes a page as for a request, and forgets it. Does nothing where no page with numbers is.
   * @param query undecoded @throws ApiError
   */
  warm(path: string, query: string): void;
  /** Forgets what was written from the data versions that were served before. */
  forget(): void;
  /** Replaces all files of the pages. */
  show(files: readonly WebFile[]): void;
}
