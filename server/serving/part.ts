import type { PortalReply, PortalRequest, WebFile } from "../shared/messages.ts";
import type { PostHandler } from "./posts.ts";
import type { Respond } from "./responder.ts";

/** A part's side in serving threads: pages beside the API. */

/** The type of `pages`, which a part's serving module exports. */
export type MakePages = (context: PagesContext) => ServingPages;

export interface PagesContext {
  trustedProxies: number;
  /** Passes a post to the control thread. @throws Error when the control thread has failed to reply, which it has logged */
  ask(request: PortalRequest): Promise<PortalReply>;
  /**
   * The API's answer to a request, without a key and its ceilings.
   *
   * @param query the undecoded text behind the `?`
   * @throws ApiError
   */
  read(path: string, query: string): unknown;
  /** Logs an error, and the request that it failed where it is known. */
  report(error: unknown, requestId?: string): void;
}

export interface ServingPages {
  /** Answers any path that isn't the API's. */
  readonly respond: Respond;
  /** Replies to posts below this path, with a slash at its end. */
  readonly postsBelow: string;
  readonly posts: PostHandler;
  show(files: readonly WebFile[]): void;
}
