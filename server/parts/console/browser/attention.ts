import { counted, percent } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { State } from "../state.ts";

/** Lists what needs the operator's attention, most severe first. */

export const leastRefusedShare = 0.01;
/** Some clients always try without a key first. */
const leastUnauthorizedShare = 0.05;
/** Some searches find nothing. */
const leastWrongShare = 0.2;
/** So few answers are a person who tries something. */
const leastWrong = 20;
/** So many accounts are named beside a share of refused requests. */
const namedAccounts = 3;
const leastQuotaShare = 0.9;

interface AttentionProps {
  state: State;
  /** Names the time that the shares are about, such as "an hour". */
  range: string;
  /** Shares of requests in that time, from 0 to 1. */
  refusedShare: number;
  unauthorizedShare: number;
  failedShare: number;
  /** Answers in that time, keys as in a sample. */
  answers: Readonly<Record<string, number>>;
  /** Refused requests by account. */
  refusedBy: Readonly<Record<string, number>>;
  /** The time within which 99% of the requests were answered; undefined if the time is short. */
  slow: string | undefined;
}

/** Names the commonest of the 4xx answers, if they are many. Those that a key or a rate is about have lines of their own. */
function wrongText(answers: AttentionProps["answers"], time: string): string | false {
  const all = Object.values(answers).reduce((sum, count) => sum + count, 0);
  const wrong = Object.entries(answers)
    .filter(([name]) => / 4(?!01|29)..$/.test(name))
    .sort(([, a], [, b]) => b - a);
  const count = wrong.reduce((sum, [, each]) => sum + each, 0);
  if (count < leastWrong || count < leastWrongShare * all) return false;
  const [[name, most]] = wrong;
  const at = name.lastIndexOf(" ");
  return `${percent((100 * count) / all)} of requests in ${time} are answered with 4xx: most, ${percent((100 * most) / all)}, with ${name.slice(at + 1)} at ${name.slice(0, at)}.`;
}

export function Attention(props: AttentionProps) {
  const { state, range, refusedShare, unauthorizedShare, failedShare, answers, refusedBy, slow } = props;
  const { accounts, events, refused } = state;
  const time = `the last ${range.replace(/^an? /, "")}`;
  const of = (all: typeof accounts) => all.map(({ name }) => name).join(", ");
  const exhausted = accounts.filter(({ used, quota }) => used >= quota);
  const near = accounts.filter(({ used, quota }) => used < quota && used >= leastQuotaShare * quota);
  const failed = events.filter(({ state }) => state === "failed");
  const mostRefused = Object.entries(refusedBy)
    .sort(([, a], [, b]) => b - a)
    .slice(0, namedAccounts)
    .map(([name]) => name);
  const trying = events.filter(({ state, tries }) => state === "pending" && tries > 0).length;
  const some = (count: number, one: string, more: string, what: string) =>
    count > 0 && `${counted(count, one, more)} ${what}`;
  const bad = [
    failedShare > 0 &&
      `${percent(100 * failedShare)} of requests in ${time} fail by the server's fault (5xx): see the log.`,
    some(
      refused.length,
      "file is",
      "files are",
      "refused; the previous data is still served. What to do stands below.",
    ),
    some(
      failed.length,
      "delivery has",
      "deliveries have",
      `failed for good: hcqs events retry ${failed[0]?.id} starts ${failed.length === 1 ? "it" : "the newest"} again.`,
    ),
  ];
  const warn = [
    refusedShare >= leastRefusedShare &&
      `${percent(100 * refusedShare)} of requests in ${time} are refused, being over a rate or quota (429)${mostRefused.length > 0 ? `: most of ${mostRefused.join(", ")}` : ""}.`,
    unauthorizedShare >= leastUnauthorizedShare &&
      `${percent(100 * unauthorizedShare)} of requests in ${time} have no key that works (401).`,
    wrongText(answers, time),
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
