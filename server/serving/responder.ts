import type { ThreadTraffic } from "../shared/traffic.ts";
import { type AccessLog, requestShown } from "./access-log.ts";
import type { HttpRequest, HttpResponse } from "./listener.ts";
import { headOverheadBytes, RecentReplies } from "./recent-replies.ts";
import { type BodyStream, headerNames, type Reply, type RequestHead } from "./reply.ts";
import { type RequestIds, withRequestId } from "./request-ids.ts";
import { orClose, streamBody, Turns, type Wait } from "./streaming.ts";

/** Answers requests: sends each reply as far as its connection takes it, and closes what has to be closed. */

/**
 * Answers a request; must not throw.
 *
 * @param path undecoded
 * @param hasBody whether the request announces a body
 */
export type Respond = (request: RequestHead, path: string, method: string, hasBody: boolean) => Reply;

const empty = new Uint8Array(0);
/** Answers up to this length may wait in the library's memory for a client that is behind with reading. */
const maxBufferedAnswer = 8 * 2 ** 10;
/** What waits there for one connection, on average, until it is closed. */
const bufferedBytes = 256 * 2 ** 10;

/** A request that is answered later. */
interface Later {
  requestId: string;
  /** The reply as it is to be sent, with the request's id where it is an error; the access log is told of it. */
  finish(reply: Reply): Reply;
}

export class Responder {
  readonly #traffic: ThreadTraffic;
  readonly #isEnding: () => boolean;
  readonly #replyTo: Respond;
  readonly #ids: RequestIds;
  readonly #accessLog: AccessLog | undefined;
  readonly #random: () => number;
  readonly #now: () => Date;
  readonly #recent = new RecentReplies();
  readonly #turns = new Turns(() => this.#handled);
  #isDraining = false;
  #handled = 0;
  #pending = 0;
  // What `#respond` sends: a closure for every request would cost more than these.
  #response!: HttpResponse;
  #reply!: Reply;
  #isHead = false;
  #isStuck = false;
  /** Of answers without a body, until one of them ends its connection. */
  #bytesToLast = bufferedBytes;

  /**
   * @param traffic counts the answers
   * @param isEnding asked for every request: whether to close its connection instead of answering
   * @param accessLog undefined where no request is logged
   * @param random from 0 to 1, never 1
   */
  constructor(
    traffic: ThreadTraffic,
    isEnding: () => boolean,
    replyTo: Respond,
    ids: RequestIds,
    accessLog?: AccessLog,
    random = Math.random,
    now = () => new Date(),
  ) {
    this.#traffic = traffic;
    this.#isEnding = isEnding;
    this.#replyTo = replyTo;
    this.#ids = ids;
    this.#accessLog = accessLog;
    this.#random = random;
    this.#now = now;
  }

  /** Requests so far. */
  get handled(): number {
    return this.#handled;
  }

  /** Answers that wait for their connections to take them. Small ones may wait in the HTTP server's own memory, uncounted. */
  get pending(): number {
    return this.#pending;
  }

  /** Closes each connection with its next answer. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Counts a request. @returns whether it is to be answered; if not, its connection is closed */
  accept(res: HttpResponse): boolean {
    // Here, because a thread hears of its end only when it is done with all that its connections had sent.
    if (this.#isEnding()) {
      res.close();
      return false;
    }
    this.#handled++;
    return true;
  }

  /** Answers a request within the call, as far as the socket takes it. */
  answer(res: HttpResponse, req: HttpRequest, path: string, method: string, route: number): void {
    const begun = this.#traffic.begin();
    if (!this.accept(res)) return;
    const caller = this.#accessLog?.callerOf(res, req, begun >= 0);
    const hasBody = announcesBody(req);
    const connection = req.getHeader(headerNames.connection);
    this.#response = res;
    this.#isHead = method === "HEAD";
    let reply = this.#replyTo(req, path, method, hasBody);
    const isError = reply.status >= 400;
    const requestId = isError || caller !== undefined ? this.#ids.next() : "";
    if (isError) reply = withRequestId(reply, requestId);
    this.#reply = reply;
    // After exactly `close` the library closes by itself, without dropping the answers to requests before this one.
    const closes = connection.length > 5 && /\bclose\b/i.test(connection);
    const { stream } = reply;
    this.#isStuck = false;
    if (stream === undefined && (hasBody || closes)) this.#respondLast(res);
    // Only the first of several requests in one segment comes corked; each part of an answer would be sent by itself.
    else {
      res.cork(
        stream === undefined ? this.#respond : () => this.#respondWithStream(res, stream, closes, route),
      );
      if (this.#isStuck) res.close();
    }
    const { status } = reply;
    const bytes = this.#isHead ? 0 : (reply.body?.length ?? stream?.length ?? 0);
    this.#traffic.answered(route, status, stream === undefined ? bytes : 0, begun);
    if (caller !== undefined)
      this.#accessLog?.tell(caller, requestId, requestShown(method, path, req.getQuery()), status, bytes);
  }

  /** To be called as a request comes that is answered later: what is asked for can't be read any more then. */
  answersLater(res: HttpResponse, req: HttpRequest, method: string, path: string): Later {
    const requestId = this.#ids.next();
    const caller = this.#accessLog?.callerOf(res, req, true);
    const finish = (reply: Reply): Reply => {
      const { status, body } = reply;
      if (caller !== undefined)
        this.#accessLog?.tell(
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

  /**
   * Counts an answer as pending until it is sent or its connection is gone.
   *
   * @param onEnd called then
   */
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
    const { head, body } = this.#reply;
    const response = this.#response;
    this.#recent.add(head.length, this.#isHead ? undefined : body?.length);
    // The status takes the headers along: a call for each costs more. It has to come first in any case.
    response.writeStatus(head);
    if (body !== undefined && !this.#isHead) {
      if (this.#isDraining) response.writeHeader("Connection", "close");
      this.#send(response, body, head.length);
      return;
    }
    // `endWithoutBody`'s own argument for the length would abort the process.
    if (body !== undefined) response.writeHeader("Content-Length", String(body.length));
    // Only a body shows whether the client is behind. So any of these answers may be its connection's last one, as
    // likely as it is long: whether the client reads or not, no more gathers.
    this.#bytesToLast -= head.length + headOverheadBytes;
    if (this.#bytesToLast < 0) {
      // Exponentially distributed: nobody can know whose answer it will be.
      this.#bytesToLast = -Math.log(1 - this.#random()) * bufferedBytes;
      this.#endLast(response);
    } else {
      if (this.#isDraining) response.writeHeader("Connection", "close");
      response.endWithoutBody();
    }
  };

  /**
   * Sends what the socket takes now. `end()` won't do, though it costs a little less: a body that the library drops is
   * neither sent nor marked as done then, and because nobody would be told of an abort either, the library ends the
   * process after the handler. Answers without a body are marked as done in any case.
   */
  #send(res: HttpResponse, body: Uint8Array, headBytes: number): void {
    const [, done] = res.tryEnd(body, body.length);
    if (done) return;
    if (body.length > maxBufferedAnswer || res.getWriteOffset() > 0) this.#sendRest(res, body);
    // Its client pipelines and is behind. There is no way to know how far behind, so it is closed at random, as likely
    // as the answer is long: whatever connections do, one that isn't read from at all is found.
    else if (this.#recent.mayHaveCutHead(headBytes) || this.#random() * bufferedBytes < body.length)
      this.#isStuck = true;
    else res.end(body);
  }

  /** Sends what is left of an answer as the socket drains. */
  #sendRest(res: HttpResponse, body: Uint8Array): void {
    // It has to outlast the next answer.
    const kept = new Uint8Array(body);
    const wait = this.waitFor(res);
    const goOn = (offset: number) => {
      const [ok, finished] = res.tryEnd(kept.subarray(offset), kept.length);
      if (finished) wait.end();
      return ok;
    };
    res.onWritable(orClose(res, wait, goOn));
  }

  /**
   * Answers and closes the connection. A body may smuggle a second request in: while this one waits for its answer, the
   * parser closes the connection when it finds another behind it. Then answers to earlier requests of the same segment
   * are lost as far as they are still gathered, because only more than fits beside them sends them within a handler.
   */
  #respondLast(res: HttpResponse): void {
    const { head, body, absentBytes = 0 } = this.#reply;
    // Both are valid until the next answer only.
    const keptHead = typeof head === "string" ? head : new Uint8Array(head);
    const keptBody = this.#isHead || body === undefined ? undefined : new Uint8Array(body);
    const bytes = body?.length ?? absentBytes;
    const wait = this.waitFor(res);
    const respond = () => {
      res.writeStatus(keptHead);
      if (keptBody !== undefined) {
        wait.end();
        res.end(keptBody, true);
        return;
      }
      if (bytes === 0) {
        this.#endLast(res, wait);
        return;
      }
      // For the library the body is still to come: no call ends an answer without one and closes behind it.
      res.writeHeader("Connection", "close");
      const close = () => {
        const [isTaken] = res.tryEnd(empty, bytes);
        if (isTaken) closeSoon(res, wait);
        return isTaken;
      };
      if (!close()) res.onWritable(orClose(res, wait, close));
    };
    setImmediate(orClose(res, wait, () => res.cork(respond)));
  }

  /**
   * Ends an answer without a body, and then the connection. For the library the answer goes on until then, so it
   * doesn't answer another request of the same segment, but closes the connection itself.
   */
  #endLast(res: HttpResponse, wait = this.waitFor(res)): void {
    closeSoon(res, wait);
    // What the library would write with the answer's end.
    res.writeHeader("Date", this.#now().toUTCString());
    res.writeHeader("Connection", "close\r\n");
  }

  /** Answers with a body that is made as the socket takes it. */
  #respondWithStream(
    res: HttpResponse,
    { length, source }: BodyStream,
    closes: boolean,
    route: number,
  ): void {
    const { head, status } = this.#reply;
    const isLast = this.#isDraining || closes;
    this.#recent.add(head.length, this.#isHead ? undefined : length);
    res.writeStatus(head);
    if (this.#isHead) {
      source.return();
      res.writeHeader("Content-Length", String(length));
      if (isLast) this.#endLast(res);
      else res.endWithoutBody();
      return;
    }
    const wait = this.waitFor(res, () => source.return());
    if (isLast) res.writeHeader("Connection", "close");
    const onChunk = (bytes: number) => this.#traffic.sent(route, status, bytes);
    const close = isLast ? () => closeSoon(res, wait) : undefined;
    const isBehind = streamBody(res, { length, source }, wait, this.#turns, onChunk, close);
    // Its client pipelines and is behind; part of the head may have been dropped.
    if (!wait.isOver && isBehind && res.getWriteOffset() === 0) this.#isStuck = true;
  }
}

/** Closes a connection when what is being written to it is on its way. */
function closeSoon(res: HttpResponse, wait: Wait): void {
  const close = () => {
    wait.end();
    res.close();
  };
  setImmediate(orClose(res, wait, close));
}

/** Whether a request may have a body. Its lengths are all looked at: the parser goes by the first one alone. */
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
