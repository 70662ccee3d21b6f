import type { ThreadTraffic } from "../shared/traffic.ts";
import { type AddressParts, addressPartsOf } from "./client-address.ts";
import type { HttpRequest, HttpResponse } from "./listener.ts";
import type { Reply } from "./reply.ts";
import type { Responder } from "./responder.ts";

/** Takes what is posted: a body of a bounded length and in a bounded time, and then answers and closes the connection. */

/** Of what is posted, and for how long its client may take to send it. */
const maxBodyBytes = 16 * 2 ** 10;
const maxBodyMs = 10_000;

/** What is posted. */
export interface Post extends AddressParts {
  path: string;
  /** The first header of that name, or the empty string. */
  authorization: string;
  contentType: string;
  /** The body; undefined where it was too long. */
  body: Uint8Array | undefined;
}

/**
 * Takes a body, and answers when the reply is there.
 *
 * @param replyTo must not throw or reject
 */
export function takePost(
  res: HttpResponse,
  req: HttpRequest,
  route: number,
  replyTo: (post: Post, requestId: string) => Promise<Reply>,
  responder: Responder,
  traffic: ThreadTraffic,
): void {
  if (!responder.accept(res)) return;
  const post = headOf(res, req);
  const { requestId, finish } = responder.answersLater(res, req, "POST", post.path);
  const wait = responder.waitFor(res, () => clearTimeout(deadline));
  const deadline = setTimeout(() => wait.isOver || res.close(), maxBodyMs);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  res.onData((chunk, isLast) => {
    bytes += chunk.byteLength;
    // It is valid during the call only.
    if (bytes <= maxBodyBytes) chunks.push(new Uint8Array(chunk.slice(0)));
    if (!isLast) return;
    clearTimeout(deadline);
    const body = bytes <= maxBodyBytes ? Buffer.concat(chunks) : undefined;
    // Not before the library has looked behind the body: where it finds another request it closes the connection,
    // and what nobody would be told of isn't done.
    setImmediate(() => wait.isOver || answer(body));
  });
  const answer = (body: Uint8Array | undefined) => {
    const begun = traffic.beginLater();
    void replyTo({ ...post, body }, requestId).then((reply) => {
      if (wait.isOver) return;
      const { status, head, body } = finish(reply);
      traffic.answeredLater(route, status, body?.length ?? 0, begun);
      res.cork(() => {
        res.writeStatus(head);
        wait.end();
        res.end(body, true);
      });
    });
  };
}

function headOf(res: HttpResponse, req: HttpRequest): Omit<Post, "body"> {
  return {
    path: req.getUrl(),
    authorization: req.getHeader("authorization"),
    contentType: req.getHeader("content-type"),
    ...addressPartsOf(res, req),
  };
}
