import type { ThreadTraffic } from "../shared/traffic.ts";
import { type AddressParts, addressPartsOf } from "./client-address.ts";
import type { HttpRequest, HttpResponse } from "./listener.ts";
import type { Reply } from "./reply.ts";
import type { Responder } from "./responder.ts";
import { type After, afterTimeout, hasTooManyChunks, orClose, skipBody, type Wait } from "./streaming.ts";

/** Receives posts. Limits the length, the chunks and the time of a body, and the number of posts under way. */

export const maxBodyBytes = 16 * 2 ** 10;
export const maxBodyMs = 10_000;
/** Maximum concurrent posts of one client in this thread. */
export const maxPostsPerClient = 32;
/** Maximum concurrent posts of all clients in this thread. Each post may hold a buffer of `maxBodyBytes`. */
export const maxPosts = 512;

export interface PostHead extends AddressParts {
  path: string;
  /** The first Authorization header; empty if there is no header. */
  authorization: string;
  contentType: string;
}

export interface Post extends PostHead {
  /** The body; undefined if it was too long. */
  body: Uint8Array | undefined;
}

export interface PostHandler {
  /** Returns the client's name, for counting its concurrent posts. */
  clientOf(head: PostHead): string;
  reply(post: Post, requestId: string): Promise<Reply>;
  /** Makes the reply if this client, or all clients together, have too many concurrent posts. */
  busy(who: "client" | "all"): Reply;
  failed(error: unknown, requestId: string): Reply;
}

export class Posts {
  readonly #handler: PostHandler;
  readonly #responder: Responder;
  readonly #traffic: ThreadTraffic;
  readonly #after: After;
  #underWay = 0;
  readonly #byClient = new Map<string, number>();

  constructor(handler: PostHandler, responder: Responder, traffic: ThreadTraffic, after = afterTimeout) {
    this.#handler = handler;
    this.#responder = responder;
    this.#traffic = traffic;
    this.#after = after;
  }

  /** Receives a post, sends the reply when it is ready, and closes the connection. */
  take(res: HttpResponse, req: HttpRequest, route: number): void {
    const handler = this.#handler;
    if (!this.#responder.accept(res)) return;
    const head = headOf(res, req);
    const { requestId, finish } = this.#responder.answersLater(res, req, "POST", head.path);
    const client = handler.clientOf(head);
    const busy = this.#busyFor(client);
    if (busy !== undefined) {
      // The body is read first, so that the client gets the reply.
      let cancelSkip = () => {};
      const wait = this.#responder.waitFor(res, () => cancelSkip());
      // Waits until the library has parsed what follows the body. Otherwise the library would accept a second request
      // there.
      const refuse = () =>
        setImmediate(orClose(res, wait, () => this.#send(res, route, finish(handler.busy(busy)), wait)));
      cancelSkip = skipBody(res, wait, this.#after, refuse);
      return;
    }
    this.#count(client, 1);
    const wait = this.#responder.waitFor(res, () => {
      cancelDeadline();
      this.#count(client, -1);
    });
    const close = orClose(res, wait, () => res.close());
    const cancelDeadline = this.#after(maxBodyMs, close);
    const body = new Body();
    const answer = () => {
      const begun = this.#traffic.beginLater();
      const send = (reply: Reply) => this.#send(res, route, finish(reply), wait, begun);
      const fail = (error: unknown) => send(handler.failed(error, requestId));
      handler
        .reply({ ...head, body: body.content }, requestId)
        .then(orClose(res, wait, send), orClose(res, wait, fail));
    };
    const take = (chunk: ArrayBuffer, isLast: boolean) => {
      if (!body.add(new Uint8Array(chunk))) {
        res.close();
        return;
      }
      if (!isLast) return;
      cancelDeadline();
      // Waits until the library has parsed what follows the body. If another request follows, the library closes the
      // connection. Then the post isn't handled, because its client couldn't receive the reply.
      setImmediate(orClose(res, wait, answer));
    };
    res.onData(orClose(res, wait, take));
  }

  #busyFor(client: string): "client" | "all" | undefined {
    if ((this.#byClient.get(client) ?? 0) >= maxPostsPerClient) return "client";
    return this.#underWay >= maxPosts ? "all" : undefined;
  }

  #count(client: string, change: 1 | -1): void {
    this.#underWay += change;
    const underWay = (this.#byClient.get(client) ?? 0) + change;
    if (underWay === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, underWay);
  }

  #send(
    res: HttpResponse,
    route: number,
    reply: Reply,
    wait: Wait,
    begun = this.#traffic.beginLater(),
  ): void {
    const { status, head, body } = reply;
    this.#traffic.answeredLater(route, status, body?.length ?? 0, begun);
    res.cork(() => {
      res.writeStatus(head);
      wait.end();
      res.end(body, true);
    });
  }
}

class Body {
  #buffer: Buffer | undefined;
  #length = 0;
  #chunks = 0;

  add(chunk: Uint8Array): boolean {
    this.#chunks++;
    if (this.#length + chunk.length <= maxBodyBytes) {
      this.#buffer ??= Buffer.allocUnsafeSlow(maxBodyBytes);
      this.#buffer.set(chunk, this.#length);
    }
    this.#length += chunk.length;
    return !hasTooManyChunks(this.#chunks, this.#length);
  }

  get content(): Uint8Array | undefined {
    if (this.#length > maxBodyBytes) return undefined;
    return this.#buffer?.subarray(0, this.#length) ?? new Uint8Array(0);
  }
}

function headOf(res: HttpResponse, req: HttpRequest): PostHead {
  return {
    path: req.getUrl(),
    authorization: req.getHeader("authorization"),
    contentType: req.getHeader("content-type"),
    ...addressPartsOf(res, req),
  };
}
