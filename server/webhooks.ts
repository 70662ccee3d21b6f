import { lookup as resolveHost } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Logger } from "pino";
import { Webhook } from "standardwebhooks";
import type { Account, Store, StoredEvent } from "./store.ts";

/** Delivers events by the Standard Webhooks specification: at least once, with the same id on every try. */

const maxConcurrentTries = 10;
const maxTryMs = 15_000;
const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
/** Pauses after each try but the last: ten tries over about three days. */
const pausesSeconds = [
  10 * second,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  6 * hour,
  12 * hour,
  24 * hour,
  27 * hour,
];
export const maxTries = pausesSeconds.length + 1;

/** Addresses that are nobody's on the public internet: our own machine and network, and cloud metadata among them. */
const refused = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  refused.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 96],
  ["64:ff9b::", 32],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  refused.addSubnet(network, bits, "ipv6");
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether an address may be posted to. IPv4 addresses in IPv6 form count as what they are. */
export function mayConnect(address: string, allowLoopback: boolean): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0) return false;
  if (allowLoopback && loopback.check(address, family)) return true;
  return !refused.check(address, family);
}

/**
 * Checks a webhook's address when it is set.
 *
 * @returns what is wrong with it, or undefined
 */
export function webhookFault(url: string, allowLoopbackHttp: boolean): string | undefined {
  if (!URL.canParse(url) || url.length > 2000) return "a URL";
  const { protocol, hostname, username, password } = new URL(url);
  if (username !== "" || password !== "") return "a URL without a user name or password";
  const host = hostname.replace(/^\[|\]$/g, "");
  const isLoopback =
    host === "localhost" || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? "ipv6" : "ipv4"));
  if (allowLoopbackHttp && isLoopback && (protocol === "http:" || protocol === "https:")) return undefined;
  if (protocol !== "https:") return "an https URL";
  return isIP(host) !== 0 && !mayConnect(host, false) ? "a public address" : undefined;
}

/** Resolves a host for a connection and gives only addresses that may be connected to; the check and the use are one. */
function checkedLookup(allowLoopback: boolean): LookupFunction {
  return (host, options, done) => {
    resolveHost(host, { ...options, all: true }, (error, addresses) => {
      const [found] = error ? [] : addresses;
      const bad = addresses?.find(({ address }) => !mayConnect(address, allowLoopback));
      if (error || found === undefined) done(error ?? new Error("no address"), "", 0);
      else if (bad !== undefined) done(new Error(`${bad.address} isn't a public address`), "", 0);
      else if (options.all) done(null, addresses);
      else done(null, found.address, found.family);
    });
  };
}

/** Posts one event. @returns the status of the answer; redirects are answers like others */
function post(
  url: string,
  secret: string,
  event: StoredEvent,
  now: Date,
  allowLoopback: boolean,
): Promise<number> {
  const target = new URL(url);
  const fault = webhookFault(url, allowLoopback);
  const body = Buffer.from(event.payload);
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": body.length,
    "User-Agent": "healthcare-charge-query-service",
    "webhook-id": event.id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(event.id, now, event.payload),
  };
  return new Promise((resolve, reject) => {
    if (fault !== undefined) return reject(new Error(`${target.host} isn't ${fault}`));
    const send = target.protocol === "https:" ? requestHttps : requestHttp;
    const lookup = checkedLookup(allowLoopback);
    const signal = AbortSignal.timeout(maxTryMs);
    const request = send(target, { method: "POST", headers, lookup, signal, agent: false }, (response) => {
      resolve(response.statusCode ?? 0);
      // The rest of the answer is nobody's business.
      response.destroy();
    });
    request.on("error", reject);
    request.end(body);
  });
}

export class Webhooks {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #allowLoopback: boolean;
  readonly #underway = new Set<string>();
  /** Outcomes that couldn't be written: they are written first, and what was delivered isn't posted again. */
  readonly #unrecorded = new Map<string, () => void>();

  /** @param allowLoopback whether plain http to this machine is allowed too, for trying things out */
  constructor(store: Store, log: Logger, allowLoopback: boolean) {
    this.#store = store;
    this.#log = log;
    this.#allowLoopback = allowLoopback;
  }

  /** Starts the tries that are due. @returns when those are done */
  async deliverDue(now: Date): Promise<void> {
    for (const [id, record] of this.#unrecorded) {
      record();
      this.#unrecorded.delete(id);
    }
    const free = maxConcurrentTries - this.#underway.size;
    if (free <= 0) return;
    const due = this.#store
      .dueEvents(now, maxConcurrentTries)
      .filter(({ id }) => !this.#underway.has(id))
      .slice(0, free);
    await Promise.all(due.map((event) => this.#deliver(event, now)));
  }

  async #deliver(event: StoredEvent, now: Date): Promise<void> {
    this.#underway.add(event.id);
    try {
      await this.#tryAndRecord(event, now);
    } finally {
      this.#underway.delete(event.id);
    }
  }

  async #tryAndRecord(event: StoredEvent, now: Date): Promise<void> {
    const account = this.#store.accountOf(event.account);
    const outcome = await this.#try(event, account, now);
    const { id, state, tries, last_answer } = outcome;
    this.#log.info({ event: id, state, tries, answer: last_answer }, "event delivery");
    const record = () =>
      this.#store.atomically(() => {
        this.#store.updateDelivery(outcome);
        const current = this.#store.accountOf(event.account);
        // Gone for good: but only the address that said so.
        if (last_answer === "410" && current !== undefined && current.webhook === account?.webhook)
          this.#store.updateAccount({ ...current, webhook: null, webhook_secret: null });
      });
    try {
      record();
    } catch (error) {
      this.#unrecorded.set(id, record);
      this.#log.error({ event: id, reason: String(error) }, "event delivery can't be recorded yet");
    }
  }

  /** Tries once. @returns how the delivery stands then */
  async #try(event: StoredEvent, account: Account | undefined, now: Date): Promise<StoredEvent> {
    const tries = event.tries + 1;
    const url = account?.webhook ?? null;
    const secret = account?.webhook_secret ?? null;
    const over: StoredEvent = { ...event, tries, next_try_at: null, state: "failed" };
    if (url === null || secret === null) return { ...over, tries: event.tries, last_answer: "no webhook" };
    let answer: string;
    try {
      const status = await post(url, secret, event, now, this.#allowLoopback);
      if (status >= 200 && status < 300) return { ...over, state: "delivered", last_answer: String(status) };
      answer = String(status);
    } catch (error) {
      answer = error instanceof Error ? error.message : String(error);
    }
    if (answer === "410" || tries >= maxTries) return { ...over, last_answer: answer };
    const next = new Date(now.getTime() + pausesSeconds[tries - 1] * 1000);
    return { ...over, state: "pending", next_try_at: next.toISOString(), last_answer: answer };
  }
}
