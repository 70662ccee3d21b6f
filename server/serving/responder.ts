import type { ThreadTraffic } from "../shared/traffic.ts";
import { type AccessLog, type Caller, requestShown } from "./access-log.ts";
import type { HttpRequest, HttpResponse } from "./listener.ts";
import type { PermitQueue } from "./permit-queue.ts";
import { type BodyStream, headerNames, KeptRequest, type Reply, type RequestHead } from "./reply.ts";
import { type RequestIds, withRequestId } from "./request-ids.ts";
import { type After, afterTimeout, orClose, skipBody, streamBody, Turns, type Wait } from "./streaming.ts";
import type { WaitingAnswers } from "./waiting.ts";

/** Sends replies, no faster than each connection takes them, and closes connections. */

/** Answers a request; must not throw. @param path undecoded @param hasBody whether the request announces a body */
export type Respond = (request: RequestHead, path: string, method: string, hasBody: boolean) => Reply;

/** Requests that wait for permits, and the way to answer them; see `Service.answerAfterWait`. */
export interface Waits {
  queue: PermitQueue;
  answerAfterWait(slot: number, monthOrReason: number, answer: () => Reply): Reply;
}

const empty = new Uint8Array(0);
/** An answer without a body closes its connection at random, on average once in this many bytes of such answers. */
const headBytesToClose = 64 * 2 ** 10;
/** Maximum bytes that the library adds to a head, for the protocol, the date and the length. */
const headOverheadBytes = 128;

/** What is kept of a request in addition to its query and headers. */
interface Asked {
  path: string;
  method: string;
  hasBody: boolean;
  /** Whether to close the connection after the answer. A request with `hasBody` closes it in any case. */
  closes: boolean;
  route: number;
  /** What `ThreadTraffic.begin` or, if the request is answered later, `beginLater` returned. */
  begun: number;
  isLater: boolean;
  caller: Caller | undefined;
}

interface Later {
  requestId: string;
  /** Logs the reply, and adds the request's id to an error. */
  finish(reply: Reply): Reply;
}

export class Responder {
  readonly #traffic: ThreadTraffic;
  readonly #isEnding: () => boolean;
  readonly #replyTo: Respond;
  readonly #ids: RequestIds;
  readonly #random: () => number;
  readonly #now: () => Date;
  readonly #after: After;
  readonly #waiting: WaitingAnswers;
  readonly #turns: Turns;
  /** Undefined unless servers share the accounts. */
  readonly #waits: Waits | undefined;
  accessLog: AccessLog | undefined;
  #isDraining = false;
  #handled = 0;
  #pending = 0;
  // The next three fields are the arguments of `#respond`. A closure for every request would cost more.
  #response!: HttpResponse;
  #reply!: Reply;
  #isHead = false;

  /** @param isEnding whether to close connections instead of answering; called for every request */
  constructor(
    traffic: ThreadTraffic,
    isEnding: () => boolean,
    replyTo: Respond,
    ids: RequestIds,
    waiting: WaitingAnswers,
    accessLog?: AccessLog,
    waits?: Waits,
    random = Math.random,
    now = () => new Date(),
    after = afterTimeout,
  ) {
    this.#traffic = traffic;
    this.#isEnding = isEnding;
    this.#replyTo = replyTo;
    this.#ids = ids;
    this.#waiting = waiting;
    this.accessLog = accessLog;
    this.#waits = waits;
    this.#random = random;
    this.#now = now;
    this.#after = after;
    const onTurn = (tookMs: number) => traffic.worked("file", tookMs);
    this.#turns = new Turns(() => this.#handled, after, undefined, onTurn);
  }

  get handled(): number {
    return this.#handled;
  }

  /** The library's object for the request whose handler is running. It has the client's address. */
  get asking(): HttpResponse {
    return this.#response;
  }

  /** Number of answers that aren't made yet, or that the library hasn't completely taken. */
  get pending(): number {
    return this.#pending;
  }

  /** Sends `Connection: close` with all further answers. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Counts a request. @returns false if the server is ending; then the connection is closed and nothing is counted */
  accept(res: HttpResponse): boolean {
    // Each request checks whether the server is ending, because a thread receives no message until it has handled
    // everything that its connections had sent.
    if (this.#isEnding()) {
      res.close();
      return false;
    }
    this.#handled++;
    return true;
  }

  /** Answers a request, usually before this method returns. */
  answer(res: HttpResponse, req: HttpRequest, path: string, method: string, route: number): void {
    const begun = this.#traffic.begin();
    if (!this.accept(res)) return;
    const caller = this.accessLog?.callerOf(res, req, begun >= 0);
    const hasBody = announcesBody(req);
    const connection = req.getHeader(headerNames.connection);
    this.#isHead = method === "HEAD";
    this.#response = res;
    const reply = this.#replyTo(req, path, method, hasBody);
    // If the Connection header is exactly `close`, the library closes the connection itself, and drops no answers to
    // earlier requests. So only a longer header is examined here.
    const closes = connection.length > 5 && /\bclose\b/i.test(connection);
    const isLater = reply.status === 0;
    const asked = { path, method, hasBody, closes, route, begun, isLater, caller };
    if (isLater) this.#wait(res, req, reply, { ...asked, begun: this.#traffic.beginLater(begun) });
    else this.#give(res, req, reply, asked);
  }

  #wait(res: HttpResponse, req: HttpRequest, { waitsFor = -1, later }: Reply, asked: Asked): void {
    if (later === undefined) this.#waitForPermit(res, req, waitsFor, asked);
    else this.#waitForReply(res, req, later, asked);
  }

  /** Answers a request when its reply is made. The request must have no body. */
  #waitForReply(res: HttpResponse, req: HttpRequest, later: Promise<Reply>, asked: Asked): void {
    const kept = new KeptRequest(req);
    const wait = this.waitFor(res);
    const give = (reply: Reply) => {
      this.#isHead = asked.method === "HEAD";
      wait.end();
      this.#give(res, kept, reply, asked);
    };
    void later.then(orClose(res, wait, give));
  }

  #waitForPermit(res: HttpResponse, req: HttpRequest, waitsFor: number, asked: Asked): void {
    const waits = this.#waits;
    if (waits === undefined) throw new Error("a request must wait for a permit, and nothing gets permits");
    const kept = new KeptRequest(req);
    let leave = () => {};
    let cancelDeadline = () => {};
    const wait = this.waitFor(res, () => {
      leave();
      cancelDeadline();
    });
    const answer = (monthOrReason: number) => {
      this.#isHead = asked.method === "HEAD";
      const replyTo = () => this.#replyTo(kept, asked.path, asked.method, asked.hasBody);
      const reply = waits.answerAfterWait(waitsFor, monthOrReason, replyTo);
      wait.end();
      // The body was read before.
      this.#give(res, kept, reply, { ...asked, hasBody: false, closes: asked.closes || asked.hasBody });
    };
    const begin = () => {
      leave = waits.queue.wait(waitsFor, orClose(res, wait, answer));
    };
    if (asked.hasBody) cancelDeadline = skipBody(res, wait, this.#after, begin);
    else begin();
  }

  #give(
    res: HttpResponse,
    req: RequestHead,
    given: Reply,
    { path, method, hasBody, closes, route, begun, isLater, caller }: Asked,
  ): void {
    let reply = given;
    const isError = reply.status >= 400;
    const requestId = isError || caller !== undefined ? this.#ids.next() : "";
    if (isError) reply = withRequestId(reply, requestId);
    this.#response = res;
    this.#reply = reply;
    const stream = reply.stream ?? (closes && !hasBody && !this.#isHead ? streamOf(reply) : undefined);
    if (stream === undefined && (hasBody || closes)) this.#respondLast(res, hasBody);
    else if (stream !== undefined && !this.#isHead && !this.#turns.isFree(stream.taker))
      this.#respondInTurn(res, stream, closes, route);
    // If several requests are in one TCP segment, the library corks only the first. Without a cork, each part of an
    // answer is sent by itself.
    else
      res.cork(
        stream === undefined ? this.#respond : () => this.#respondWithStream(res, stream, closes, route),
      );
    const { status } = reply;
    const bytes = this.#isHead ? 0 : (reply.body?.length ?? stream?.length ?? 0);
    const bytesNow = stream === undefined ? bytes : 0;
    if (isLater) this.#traffic.answeredLater(route, status, bytesNow, begun);
    else this.#traffic.answered(route, status, bytesNow, begun);
    if (caller !== undefined)
      this.accessLog?.tell(caller, requestId, requestShown(method, path, req.getQuery()), status, bytes);
  }

  /**
   * Prepares for a request that is answered later. Call this before the request's handler returns, because the request
   * can't be read afterwards.
   */
  answersLater(res: HttpResponse, req: HttpRequest, method: string, path: string): Later {
    const requestId = this.#ids.next();
    const caller = this.accessLog?.callerOf(res, req, true);
    const finish = (reply: Reply): Reply => {
      const { status, body } = reply;
      if (caller !== undefined)
        this.accessLog?.tell(
          caller,
          requestId,
          requestShown(method, path, undefined),
          status,
          body?.length ?? 0,
        );
      return status < 400 ? reply : withRequestId(reply, requestId);
    };
    return { requestId, finish };
  }

  /** Counts an answer as pending until `end` is called or its connection is closed. Then calls `onEnd`. */
  waitFor(res: HttpResponse, onEnd = () => {}): Wait {
    this.#pending++;
    const wait = {
      isOver: false,
      end: () => {
        if (wait.isOver) return;
        this.#pending--;
        wait.isOver = true;
        onEnd();
      },
    };
    res.onAborted(wait.end);
    return wait;
  }

  readonly #respond = (): void => {
    const { head, body, isOverwritten = false } = this.#reply;
    const response = this.#response;
    // The whole head is written as the status. A call for each header would cost more.
    response.writeStatus(head);
    if (body !== undefined && !this.#isHead) {
      if (this.#isDraining) response.writeHeader("Connection", "close");
      this.#send(response, body, isOverwritten);
      return;
    }
    // Content-Length is written here, because the length argument of `endWithoutBody` would abort the process.
    if (body !== undefined) response.writeHeader("Content-Length", String(body.length));
    this.#endWithoutBody(response, head, false);
  };

  /**
   * If a client doesn't read, the library buffers heads without a body for it, and doesn't report this. So such answers
   * close connections at random, and longer answers do so more often. This bounds the bytes that wait for one client.
   */
  #endWithoutBody(res: HttpResponse, head: string | Uint8Array, isLast: boolean): void {
    if (isLast || this.#random() * headBytesToClose < head.length + headOverheadBytes) {
      this.#endLast(res);
      return;
    }
    if (this.#isDraining) res.writeHeader("Connection", "close");
    res.endWithoutBody();
  }

  /**
   * Sends as much of a body as the socket takes now, and the rest later. `end()` would copy the rest into the library's
   * memory, and may end the process if it drops a body.
   */
  #send(res: HttpResponse, body: Uint8Array, isOverwritten: boolean): void {
    const [, done] = res.tryEnd(body, body.length);
    if (!done) this.#sendRest(res, isOverwritten ? new Uint8Array(body) : body);
  }

  /** @param body bytes that never change */
  #sendRest(res: HttpResponse, body: Uint8Array): void {
    const wait = this.waitFor(res, () => this.#waiting.remove(res));
    const goOn = (offset: number) => {
      const [ok, finished] = res.tryEnd(body.subarray(offset), body.length);
      this.#waiting.note(res, true);
      if (finished) wait.end();
      return ok;
    };
    res.onWritable(orClose(res, wait, goOn));
    this.#waiting.add(res, body);
  }

  /**
   * Answers a request that has a body or asks to close the connection, and closes the connection. A body may smuggle a
   * second request.
   *
   * @param hasBody whether to read the body first. If the connection were closed before, TCP would reset it, and the client
   * could lose the answer.
   */
  #respondLast(res: HttpResponse, hasBody: boolean): void {
    const { head, body, absentBytes = 0 } = this.#reply;
    // The head and the body are copied, because the next answer overwrites their bytes.
    const keptHead = typeof head === "string" ? head : new Uint8Array(head);
    const keptBody = this.#isHead || body === undefined ? undefined : new Uint8Array(body);
    const length = body?.length ?? absentBytes;
    let cancelDeadline = () => {};
    const wait = this.waitFor(res, () => cancelDeadline());
    const respond = () => {
      res.writeStatus(keptHead);
      if (keptBody !== undefined) {
        wait.end();
        res.end(keptBody, true);
        return;
      }
      if (length === 0) {
        this.#endLast(res, wait);
        return;
      }
      // The answer to a HEAD request and a 304 have a length but no body. No call of the library ends such an answer
      // and closes the connection.
      res.writeHeader("Connection", "close");
      const close = () => {
        const [isTaken] = res.tryEnd(empty, length);
        if (isTaken) closeSoon(res, wait);
        return isTaken;
      };
      if (!close()) res.onWritable(orClose(res, wait, close));
    };
    const answer = () => setImmediate(orClose(res, wait, () => res.cork(respond)));
    if (hasBody) cancelDeadline = skipBody(res, wait, this.#after, answer);
    else answer();
  }

  /**
   * Ends an answer without a body, and closes the connection a moment later. Meanwhile uWebSockets.js answers no other
   * request of the same TCP segment, but closes the connection.
   */
  #endLast(res: HttpResponse, wait = this.waitFor(res)): void {
    closeSoon(res, wait);
    // The library writes the Date header only when it ends an answer itself.
    res.writeHeader("Date", this.#now().toUTCString());
    res.writeHeader("Connection", "close\r\n");
  }

  #respondInTurn(res: HttpResponse, stream: BodyStream, closes: boolean, route: number): void {
    const { head, status } = this.#reply;
    // The head is copied, because the next answer overwrites its bytes.
    const reply = { status, head: typeof head === "string" ? head : new Uint8Array(head), body: undefined };
    const wait = this.#waitForStream(res, stream);
    const begin = () => {
      this.#reply = reply;
      this.#isHead = false;
      res.cork(() => this.#respondWithStream(res, stream, closes, route, wait));
    };
    this.#turns.wait(stream.taker, orClose(res, wait, begin));
  }

  #waitForStream(res: HttpResponse, { source }: BodyStream): Wait {
    return this.waitFor(res, () => {
      source.return();
      this.#waiting.remove(res);
    });
  }

  #respondWithStream(
    res: HttpResponse,
    stream: BodyStream,
    closes: boolean,
    route: number,
    begun?: Wait,
  ): void {
    const { head, status } = this.#reply;
    const { length, source, taker, kept } = stream;
    const isLast = this.#isDraining || closes;
    res.writeStatus(head);
    if (this.#isHead) {
      source.return();
      res.writeHeader("Content-Length", String(length));
      this.#endWithoutBody(res, head, isLast);
      return;
    }
    const wait = begun ?? this.#waitForStream(res, stream);
    if (isLast) res.writeHeader("Connection", "close");
    const onChunk = (bytes: number) => this.#traffic.sent(route, status, bytes);
    const onSent = (isBehind: boolean) => this.#waiting.note(res, isBehind);
    const close = isLast ? () => closeSoon(res, wait) : undefined;
    const state = streamBody(res, stream, wait, this.#turns, onChunk, onSent, close);
    if (wait.isOver || state === "sent") return;
    // Bytes that are in memory anyway, such as a snapshot file's, don't count.
    if (kept !== undefined || taker !== undefined) this.#waiting.add(res, kept, taker, state === "behind");
  }
}

/** Makes a stream of a reply's body, so that the connection can be closed when the whole body is sent. */
function streamOf({ body, isOverwritten }: Reply): BodyStream | undefined {
  if (body === undefined) return undefined;
  const kept = isOverwritten ? new Uint8Array(body) : body;
  const source = (function* () {
    yield kept;
  })();
  return { length: body.length, source, taker: undefined, kept };
}

/** Closes a connection a moment later, after the bytes that were just written to it. */
function closeSoon(res: HttpResponse, wait: Wait): void {
  const close = () => {
    wait.end();
    res.close();
  };
  setImmediate(orClose(res, wait, close));
}

/**
 * Whether a request may have a body. Unless the first Content-Length header is empty, checks the others, too, because the
 * parser reads only the first.
 */
function announcesBody(req: HttpRequest): boolean {
  const length = req.getHeader(headerNames.contentLength);
  if (req.getHeader(headerNames.transferEncoding) !== "") return true;
  if (length === "") return false;
  let isNone = true;
  req.forEach((name, value) => {
    if (name === "transfer-encoding" || (name === "content-length" && !/^0+$/.test(value))) isNone = false;
  });
  return !isNone;
}
