import { counted, percent } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { State } from "../state.ts";

/** Lists what needs the operator's attention, most severe first. */

export const leastRefusedShare = 0.01;
const leastQuotaShare = 0.9;

interface AttentionProps {
  state: State;
  /** Names the time that the shares are about, such as "an hour". */
  range: string;
  /** Shares of requests in that time, from 0 to 1. */
  refusedShare: number;
  failedShare: number;
  /** The time within which 99% of the requests were answered; undefined if the time is short. */
  slow: string | undefined;
}

export function Attention({ state, range, refusedShare, failedShare, slow }: AttentionProps) {
  const { accounts, events, refused } = state;
  const time = `the last ${range.replace(/^an? /, "")}`;
  const of = (all: typeof accounts) => all.map(({ name }) => name).join(", ");
  const exhausted = accounts.filter(({ used, quota }) => used >= quota);
  const near = accounts.filter(({ used, quota }) => used < quota && used >= leastQuotaShare * quota);
  const failed = events.filter(({ state }) => state === "failed").length;
  const trying = events.filter(({ state, tries }) => state === "pending" && tries > 0).length;
  const some = (count: number, one: string, more: string, what: string) =>
    count > 0 && `${counted(count, one, more)} ${what}`;
  const bad = [
    failedShare > 0 &&
      `${percent(100 * failedShare)} of requests in ${time} fail by the server's fault (5xx): see the log.`,
    some(refused.length, "file is", "files are", "refused; the previous data is still served."),
    some(failed, "delivery has", "deliveries have", "failed for good; hcqs events retry starts again."),
  ];
  const warn = [
    refusedShare >= leastRefusedShare &&
      `${percent(100 * refusedShare)} of requests in ${time} are refused, being over a rate or quota (429).`,
    slow !== undefined && `Answers are slow: 1 % of requests take ${slow} or longer.`,
    some(exhausted.length, "account has", "accounts have", `used up the month's quota: ${of(exhausted)}.`),
    some(near.length, "account is", "accounts are", `near the month's quota: ${of(near)}.`),
    some(trying, "delivery is", "deliveries are", "being retried."),
  ];
  const shown = Object.entries({ bad, warn }).flatMap(([level, texts]) =>
    texts.flatMap((text) => (text === false ? [] : [[level, text]])),
  );
  if (shown.length === 0) return html`<p class="attention quiet">Nothing needs attention.</p>`;
  return html`<ul class="attention" aria-label="Needs attention">${shown.map(([level, text]) => html`<li class=${level}>${text}</li>`)}</ul>`;
}
