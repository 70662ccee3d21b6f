import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { storedWebhookFault } from "../../accounts/webhook-url.ts";
import { maxTryMs } from "../../shared/channels.ts";
import { http } from "../../shared/runtime.ts";
import { safely } from "../../shared/safely.ts";
import { reachOf } from "../../shared/special-addresses.ts";

/**
 * Posts to a URL that a customer chose, within a deadline. Connects only to public addresses, and to this machine if
 * that is allowed.
 */

const maxInformational = 10;
const resolverOptions = { timeout: 2000, tries: 2 };

export interface PostOptions {
  /** Whether posts to this machine are allowed, also by plain http. */
  allowLoopback: boolean;
  maxMs?: number;
}

function isAllowed(address: string, allowLoopback: boolean): boolean {
  const reach = reachOf(address);
  return reach === "public" || (allowLoopback && reach === "loopback");
}

/**
 * Looks up a host's addresses. The connection uses only these addresses, because a second look-up could give forbidden
 * addresses. DNS is queried directly, because `getaddrinfo` blocks one of few threads and can't be cancelled.
 */
async function resolve(host: string, resolver: Resolver, allowLoopback: boolean): Promise<LookupAddress[]> {
  const answers = await Promise.allSettled(
    host === "localhost" ? [["127.0.0.1"], ["::1"]] : [resolver.resolve4(host), resolver.resolve6(host)],
  );
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  const [first] = answers;
  if (found.length === 0)
    throw first.status === "rejected" ? first.reason : new Error(`no address of ${host}`);
  const refused = found.find((address) => !isAllowed(address, allowLoopback));
  if (refused !== undefined) throw new Error(`${refused} isn't a public address`);
  return found.map((address) => ({ address, family: isIP(address) }));
}

/**
 * Posts a body, without following redirects. Returns the answer's status.
 * @throws Error if the URL or an address isn't allowed, or no final answer comes; the abort reason if `signal` aborts
 * meanwhile
 */
export function post(
  url: string,
  body: Buffer,
  headers: Record<string, string>,
  { allowLoopback, maxMs = maxTryMs }: PostOptions,
  signal: AbortSignal,
): Promise<number> {
  const target = new URL(url);
  const fault = storedWebhookFault(url, allowLoopback);
  if (fault !== undefined) return Promise.reject(new Error(`${target.host} isn't ${fault}`));
  return new Promise((succeed, fail) => {
    const resolver = new Resolver(resolverOptions);
    const send = target.protocol === "https:" ? requestHttps : http.request;
    const request = send(target, {
      method: "POST",
      headers: { ...headers, "Content-Length": body.length },
      lookup: (host, { all }, done) =>
        resolve(host, resolver, allowLoopback).then(
          (found) => (all ? done(null, found) : done(null, found[0].address, found[0].family)),
          (error) => done(error, []),
        ),
      agent: false,
    });
    const end = (outcome: number | Error) => {
      clearTimeout(deadline);
      signal.removeEventListener("abort", giveUp);
      resolver.cancel();
      request.destroy();
      if (typeof outcome === "number") succeed(outcome);
      else fail(outcome);
    };
    const late = () => end(new Error(`no answer in ${maxMs} ms`));
    const deadline = setTimeout(safely(late, fail), maxMs);
    const giveUp = safely(() => end(signal.reason), fail);
    signal.addEventListener("abort", giveUp);

    let informational = 0;
    const count = () => {
      if (++informational > maxInformational) end(new Error(`more than ${maxInformational} 1xx answers`));
    };
    const answered = ({ statusCode = 0 }: IncomingMessage) => end(statusCode);
    request.on("information", safely(count, fail));
    request.on("response", safely(answered, fail));
    // Without this handler, Node drops the connection without an error.
    request.on("upgrade", safely(answered, fail));
    request.on("error", safely(end, fail));
    request.end(body);
  });
}
