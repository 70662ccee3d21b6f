import * as uws from "uWebSockets.js";
import { routeOf } from "../api/routes.ts";
import type { Connections } from "../shared/connections.ts";
import type { Access } from "../shared/messages.ts";
import type { ThreadTraffic } from "../shared/traffic.ts";
import { headOverheadBytes, RecentReplies } from "./recent-replies.ts";
import { headerNames, type Pieces, type Reply, type RequestHead } from "./reply.ts";

/** Listens for HTTP requests and sends the replies. */

declare module "uWebSockets.js" {
  /** Sets what no call of its own is there for. `silent` leaves out the header that names the library. */
  export function _cfg(option: "silent"): void;
}

const empty = new Uint8Array(0);
/** Answers up to this length may wait in the library's memory for a client that is behind with reading. */
const maxBufferedAnswer = 8 * 2 ** 10;
/** What the library gathers of one cork; a longer write goes to the socket at once. */
const corkBytes = 16 * 2 ** 10;
/** What waits there for one connection, on average, until it is closed. */
const bufferedBytes = 256 * 2 ** 10;

/** Of a body that is made as it is sent, in one round of the event loop where no other request came for some rounds. */
const quietPieces = 3;
const quietRounds = 64;

/** Of what is posted, and for how long its client may take to send it. */
const maxBodyBytes = 16 * 2 ** 10;
const maxBodyMs = 10_000;

/** The listening HTTP server of one thread. */
export interface HttpServer {
  /** Accepts no new connection, and closes each open one with its next answer. */
  drain(): void;
  /** Requests answered so far. */
  handled(): number;
  /** Answers that wait for their connections to take them. Small ones may wait in the HTTP server's own memory, uncounted. */
  pending(): number;
  /** Cuts every connection. */
  close(): void;
}

/**
 * Answers a request; must not throw.
 *
 * @param path undecoded
 * @param hasBody whether the request announces a body
 */
export type Respond = (request: RequestHead, path: string, method: string, hasBody: boolean) => Reply;

/** What is posted. */
export interface Post {
  path: string;
  /** The first header of that name, or the empty string. */
  authorization: string;
  contentType: string;
  /** All headers of that name, joined by commas. */
  forwardedFor: string;
  /** The client's IP address, as the socket has it. */
  address: string;
  /** The body; undefined where it was too long. */
  body: Uint8Array | undefined;
}

/** Paths below which bodies are taken, and who answers them; must not throw or reject. */
export interface Posts {
  below: string;
  reply: (post: Post) => Promise<Reply>;
}

/**
 * Listens, and answers every request with what `replyTo` returns, within the call. Ports are shared by SO_REUSEPORT.
 *
 * @param paths which the library's router finds, so that they needn't be made strings for every request
 * @param traffic counts the answers
 * @param isEnding asked for every request: whether to close its connection instead of answering
 * @param onTimed told of each request whose time is taken
 * @throws Error when the address can't be listened on
 */
export function serveHttp(
  host: string,
  port: number,
  connections: Connections,
  traffic: ThreadTraffic,
  paths: Iterable<string>,
  isEnding: () => boolean,
  replyTo: Respond,
  posts?: Posts,
  onTimed?: (access: Access) => void,
): HttpServer {
  let draining = false;
  let pending = 0;
  let handled = 0;
  // What `respond` sends: a closure for every request would cost more than these.
  let response: uws.HttpResponse;
  let reply: Reply;
  let isHead = false;
  let isStuck = false;
  /** Of answers without a body, until one of them ends its connection. */
  let bytesToLast = bufferedBytes;
  const recent = new RecentReplies();
  const turns = new Turns(() => handled);

  function handle(
    res: uws.HttpResponse,
    req: uws.HttpRequest,
    path: string,
    method: string,
    route: number,
  ): void {
    const begun = traffic.begin();
    // Here, because a thread hears of it only when it is done with all that its connections had sent.
    if (isEnding()) {
      res.close();
      return;
    }
    handled++;
    const hasBody = announcesBody(req);
    const connection = req.getHeader(headerNames.connection);
    response = res;
    isHead = method === "HEAD";
    reply = replyTo(req, path, method, hasBody);
    // After exactly `close` the library closes by itself, without dropping the answers to requests before this one.
    const closes = connection.length > 5 && /\bclose\b/i.test(connection);
    const { pieces } = reply;
    isStuck = false;
    if (pieces === undefined && (hasBody || closes)) respondLast(res);
    // Only the first of several requests in one segment comes corked; each part of an answer would be sent by itself.
    else {
      res.cork(pieces === undefined ? respond : () => respondInPieces(res, pieces, closes, route));
      if (isStuck) res.close();
    }
    const { status } = reply;
    const bytes = isHead ? 0 : (reply.body?.length ?? pieces?.length ?? 0);
    const ms = traffic.answered(route, status, pieces === undefined ? bytes : 0, begun);
    if (ms < 0 || onTimed === undefined) return;
    const query = req.getQuery();
    onTimed({ request: `${method} ${path}${query === undefined ? "" : `?${query}`}`, status, bytes, ms });
  }

  function respond(): void {
    const { head, body } = reply;
    recent.add(head.length, isHead ? undefined : body?.length);
    // The status takes the headers along: a call for each costs more. It has to come first in any case.
    response.writeStatus(head);
    if (body !== undefined && !isHead) {
      if (draining) response.writeHeader("Connection", "close");
      send(response, body, head.length);
      return;
    }
    // `endWithoutBody`'s own argument for the length would abort the process.
    if (body !== undefined) response.writeHeader("Content-Length", String(body.length));
    // Only a body shows whether the client is behind. So any of these answers may be its connection's last one, as
    // likely as it is long: whether the client reads or not, no more gathers.
    bytesToLast -= head.length + headOverheadBytes;
    if (bytesToLast < 0) {
      // Exponentially distributed: nobody can know whose answer it will be.
      bytesToLast = -Math.log(1 - Math.random()) * bufferedBytes;
      endLast(response);
    } else {
      if (draining) response.writeHeader("Connection", "close");
      response.endWithoutBody();
    }
  }

  /**
   * Ends an answer without a body, and then the connection. For the library the answer goes on until then, so it
   * doesn't answer another request of the same segment, but closes the connection itself.
   */
  function endLast(res: uws.HttpResponse, wait = waitFor(res)): void {
    closeSoon(res, wait);
    // What the library would write with the answer's end.
    res.writeHeader("Date", new Date().toUTCString());
    res.writeHeader("Connection", "close\r\n");
  }

  /** Closes a connection when what is being written to it is on its way. */
  function closeSoon(res: uws.HttpResponse, wait: ReturnType<typeof waitFor>): void {
    setImmediate(() => {
      if (wait.isOver) return;
      wait.end();
      res.close();
    });
  }

  /**
   * Answers and closes the connection. A body may smuggle a second request in: while this one waits for its answer, the
   * parser closes the connection when it finds another behind it. Then answers to earlier requests of the same segment
   * are lost as far as they are still gathered, because only more than fits beside them sends them within a handler.
   */
  function respondLast(res: uws.HttpResponse): void {
    const { head, body, absentBytes = 0 } = reply;
    // Both are valid until the next answer only.
    const keptHead = typeof head === "string" ? head : new Uint8Array(head);
    const keptBody = isHead || body === undefined ? undefined : new Uint8Array(body);
    const bytes = body?.length ?? absentBytes;
    const wait = waitFor(res);
    setImmediate(() => {
      if (wait.isOver) return;
      res.cork(() => {
        res.writeStatus(keptHead);
        if (keptBody !== undefined) {
          wait.end();
          res.end(keptBody, true);
          return;
        }
        if (bytes === 0) {
          endLast(res, wait);
          return;
        }
        // For the library the body is still to come: no call ends an answer without one and closes behind it.
        res.writeHeader("Connection", "close");
        const close = () => {
          const [isTaken] = res.tryEnd(empty, bytes);
          if (isTaken) closeSoon(res, wait);
          return isTaken;
        };
        if (!close()) res.onWritable(close);
      });
    });
  }

  /** Takes a body, and answers when the reply is there. The connection is closed then. */
  function takePost(
    res: uws.HttpResponse,
    req: uws.HttpRequest,
    route: number,
    replyTo: Posts["reply"],
  ): void {
    if (isEnding()) {
      res.close();
      return;
    }
    handled++;
    const forwarded: string[] = [];
    req.forEach((name, value) => {
      if (name === "x-forwarded-for") forwarded.push(value);
    });
    const post: Omit<Post, "body"> = {
      path: req.getUrl(),
      authorization: req.getHeader("authorization"),
      contentType: req.getHeader("content-type"),
      forwardedFor: forwarded.join(","),
      address: Buffer.from(res.getRemoteAddressAsText()).toString("latin1"),
    };
    const wait = waitFor(res, () => clearTimeout(deadline));
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
      setImmediate(() => wait.isOver || answerPost(body));
    });
    const answerPost = (body: Uint8Array | undefined) => {
      const begun = traffic.beginLater();
      void replyTo({ ...post, body }).then(({ status, head, body }) => {
        if (wait.isOver) return;
        traffic.answeredLater(route, status, body?.length ?? 0, begun);
        res.cork(() => {
          res.writeStatus(head);
          wait.end();
          res.end(body, true);
        });
      });
    };
  }

  /**
   * Answers with a body that is made as the socket takes it: a piece in each turn, or a few where the thread has nothing
   * else to do. The body shares the turns with all others.
   */
  function respondInPieces(
    res: uws.HttpResponse,
    { length, source }: Pieces,
    closes: boolean,
    route: number,
  ): void {
    const { head, status } = reply;
    recent.add(head.length, isHead ? undefined : length);
    res.writeStatus(head);
    const isLast = draining || closes;
    if (isHead) {
      source.return();
      res.writeHeader("Content-Length", String(length));
      if (isLast) endLast(res);
      else res.endWithoutBody();
      return;
    }
    const wait = waitFor(res, () => source.return());
    // With a byte more to come than it has said, the library doesn't go on with the connection, which is closed then.
    const total = isLast ? length + 1 : length;
    if (isLast) {
      res.writeHeader("Connection", "close");
      res.tryEnd(empty, length);
    }
    let piece: Uint8Array = empty;
    let start = 0;
    /** Whether the socket hasn't taken all of the piece. */
    let isBehind = false;
    let isSent = false;
    const send = (offset: number) => {
      const [isTaken, finished] = res.tryEnd(piece.subarray(offset - start), total);
      isBehind = !isTaken;
      isSent = isTaken && start + piece.length === length;
      if (finished) wait.end();
      else if (isSent) closeSoon(res, wait);
    };
    const sendNext = () => {
      start += piece.length;
      piece = length - start > 2 * corkBytes ? nextOf(source) : restOf(source, length - start);
      traffic.sent(route, status, piece.length);
      if (piece.length > 0) send(start);
    };
    const takeTurn = () => {
      try {
        let pieces = turns.isQuiet ? quietPieces : 1;
        do sendNext();
        while (--pieces > 0 && !isBehind && !isSent && !wait.isOver);
      } catch {
        // Cut short: the client sees that bytes are missing.
        res.close();
      }
      waitForTurn();
    };
    const waitForTurn = () => {
      // The library warns of each write that isn't made within a cork.
      if (!isBehind && !isSent && !wait.isOver) turns.wait(() => wait.isOver || res.cork(takeTurn));
    };
    res.onWritable((offset) => {
      if (!isBehind) return true;
      send(offset);
      waitForTurn();
      return !isBehind;
    });
    takeTurn();
    // Its client pipelines and is behind; part of the head may have been dropped.
    if (!wait.isOver && isBehind && res.getWriteOffset() === 0) isStuck = true;
  }

  /**
   * Counts an answer as pending until it is sent or its connection is gone.
   *
   * @param onEnd called then
   */
  function waitFor(res: uws.HttpResponse, onEnd = () => {}) {
    pending++;
    const wait = {
      isOver: false,
      end() {
        if (wait.isOver) return;
        pending--;
        wait.isOver = true;
        onEnd();
      },
    };
    res.onAborted(wait.end);
    return wait;
  }

  /**
   * Sends what the socket takes now. `end()` won't do, though it costs a little less: a body that the library drops is
   * neither sent nor marked as done then, and because nobody would be told of an abort either, the library ends the
   * process after the handler. Answers without a body are marked as done in any case.
   */
  function send(res: uws.HttpResponse, body: Uint8Array, headBytes: number): void {
    const [, done] = res.tryEnd(body, body.length);
    if (done) return;
    if (body.length > maxBufferedAnswer || res.getWriteOffset() > 0) sendRest(res, body);
    // Its client pipelines and is behind. There is no way to know how far behind, so it is closed at random, as likely
    // as the answer is long: whatever connections do, one that isn't read from at all is found.
    else if (recent.mayHaveCutHead(headBytes) || Math.random() * bufferedBytes < body.length) isStuck = true;
    else res.end(body);
  }

  /** Sends what is left of an answer as the socket drains. */
  function sendRest(res: uws.HttpResponse, body: Uint8Array): void {
    // It has to outlast the next answer.
    const kept = new Uint8Array(body);
    const wait = waitFor(res);
    res.onWritable((offset) => {
      const [ok, finished] = res.tryEnd(kept.subarray(offset), kept.length);
      if (finished) wait.end();
      return ok;
    });
  }

  uws._cfg("silent");
  const app = uws.App();
  // A connection beyond the limit is closed at once: waiting in the queue of the system, it would keep the thread busy
  // accepting it in vain.
  const onChange = (res: uws.HttpResponse, change: number) => {
    if (change < 0) connections.leave();
    else if (!connections.enter()) res.close();
  };
  app.filter(onChange);
  // An exception that left a handler would end the process.
  const guarded = (
    res: uws.HttpResponse,
    req: uws.HttpRequest,
    path: string,
    method: string,
    route = routeOf(path),
  ) => {
    try {
      handle(res, req, path, method, route);
    } catch {
      try {
        res.close();
      } catch {
        // It was answered already.
      }
    }
  };
  if (posts !== undefined) {
    const route = routeOf(posts.below);
    app.post(`${posts.below}*`, (res, req) => {
      try {
        takePost(res, req, route, posts.reply);
      } catch {
        res.close();
      }
    });
  }
  for (const path of paths) {
    const route = routeOf(path);
    app.get(path, (res, req) => guarded(res, req, path, "GET", route));
  }
  app.get("/*", (res, req) => guarded(res, req, req.getUrl(), "GET"));
  app.any("/*", (res, req) => guarded(res, req, req.getUrl(), req.getCaseSensitiveMethod()));

  let socket: uws.us_listen_socket | false = false;
  app.listen(host, port, (listening) => {
    socket = listening;
  });
  if (!socket) throw new Error(`can't listen on ${host} port ${port}`);
  const listenSocket: uws.us_listen_socket = socket;
  return {
    drain() {
      draining = true;
      uws.us_listen_socket_close(listenSocket);
    },
    handled: () => handled,
    pending: () => pending,
    close() {
      app.close();
    },
  };
}

/** What is to be done bit by bit, one bit in each round of the event loop, whoever waits. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  readonly #handled: () => number;
  #handledBefore = 0;
  #quietRounds = 0;

  /** @param handled counts what else the thread does */
  constructor(handled: () => number) {
    this.#handled = handled;
  }

  /** Whether nothing else was done in the last rounds. */
  get isQuiet(): boolean {
    return this.#quietRounds >= quietRounds;
  }

  wait(turn: () => void): void {
    if (this.#waiting.push(turn) === 1) setImmediate(this.#next);
  }

  readonly #next = () => {
    const handled = this.#handled();
    this.#quietRounds = handled === this.#handledBefore ? this.#quietRounds + 1 : 0;
    this.#handledBefore = handled;
    this.#waiting[0]();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#next);
  };
}

function nextOf(source: Pieces["source"]): Uint8Array {
  const { value, done } = source.next();
  if (done) throw new Error("a body isn't as long as it said");
  return value;
}

/** All that is left, as one piece: what is longer than the cork's buffer is counted until it is taken. Each is copied before the next. */
function restOf(source: Pieces["source"], length: number): Uint8Array {
  const rest = Buffer.concat(Array.from(source, (piece) => new Uint8Array(piece)));
  if (rest.length !== length) throw new Error("a body isn't as long as it said");
  return rest;
}

/** Whether a request may have a body. Its lengths are all looked at: the parser goes by the first one alone. */
function announcesBody(req: uws.HttpRequest): boolean {
  const length = req.getHeader(headerNames.contentLength);
  if (req.getHeader(headerNames.transferEncoding) !== "") return true;
  if (length === "") return false;
  let isNone = true;
  req.forEach((name, value) => {
    if (name === "transfer-encoding" || (name === "content-length" && !/^0+$/.test(value))) isNone = false;
  });
  return !isNone;
}
