import { counted, percent } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { State } from "../state.ts";

/** Lists what needs the operator's attention, faults before warnings. */

export const leastRefusedShare = 0.01;
/** Smaller shares would be written as 0%. */
const leastWritten = 0.0005;
/** Minimum share of answers with 401 to mention. It isn't lower, because some clients always try without a key first. */
const leastUnauthorizedShare = 0.05;
/** Minimum share of 4xx answers, other than 401 and 429, to mention. It isn't lower, because some searches find nothing. */
const leastWrongShare = 0.2;
/**
 * Minimum number of 4xx answers, other than 401 and 429, to mention. Fewer may come from one person who tries something.
 */
const leastWrong = 20;
const namedAccounts = 3;
const leastQuotaShare = 0.9;

interface AttentionProps {
  state: State;
  /** Name of the period for all shares and counts, such as "an hour". */
  range: string;
  /** Share of all requests that were refused (429), from 0 to 1. */
  refusedShare: number;
  overRateShare: number;
  overQuotaShare: number;
  unauthorizedShare: number;
  failedShare: number;
  /** Numbers of answers, by the keys of `Sample.requests`. */
  answers: Readonly<Record<string, number>>;
  refusedBy: Readonly<Record<string, number>>;
  /** The time within which 99% of the requests were answered; undefined if that isn't slow. */
  slow: string | undefined;
}

/**
 * Writes a warning about 4xx answers; false if they are few. 401 and 429 don't count, because other warnings are about
 * them.
 */
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

/** The command also sets the plan, because a plan may have fixed limits. */
function raise({ name, burst, quota }: State["accounts"][number], ceiling: "rate" | "quota"): string {
  const account = /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
  const ceilings = ceiling === "rate" ? `--burst N --quota ${quota}` : `--burst ${burst} --quota N`;
  return `hcqs keys update --account ${account} --plan enterprise ${ceilings}`;
}

export function Attention(props: AttentionProps) {
  const { state, range, refusedShare, overRateShare, overQuotaShare, unauthorizedShare } = props;
  const { failedShare, answers, refusedBy, slow } = props;
  const { accounts, events, refused } = state;
  const time = `the last ${range.replace(/^an? /, "")}`;
  const of = (all: typeof accounts) => all.map(({ name }) => name).join(", ");
  const exhausted = accounts.filter(({ used, quota }) => used >= quota);
  const near = accounts.filter(({ used, quota }) => used < quota && used >= leastQuotaShare * quota);
  const failed = events.filter(({ state }) => state === "failed");
  const overRate = Object.entries(refusedBy)
    .filter(([name]) => !exhausted.some((one) => one.name === name))
    .sort(([, a], [, b]) => b - a)
    .slice(0, namedAccounts)
    .map(([name]) => name);
  const fast = accounts.find(({ name }) => name === overRate[0]);
  const otherShare = refusedShare - overRateShare - overQuotaShare;
  const lost = refused.filter(({ isLost }) => isLost);
  const trying = events.filter(({ state, tries }) => state === "pending" && tries > 0).length;
  const some = (count: number, one: string, more: string, what: string) =>
    count > 0 && `${counted(count, one, more)} ${what}`;
  const bad = [
    failedShare > 0 &&
      `${failedShare < leastWritten ? "Under 0.1%" : percent(100 * failedShare)} of requests in ${time} fail by the server's fault (5xx): see the log.`,
    some(
      lost.length,
      "data version isn't",
      "data versions aren't",
      `served any more, though ${lost.length === 1 ? "its file is" : "their files are"} there: ${lost.map(({ version }) => version).join(", ")}. What to do stands below.`,
    ),
    some(refused.length, "file is", "files are", "refused. What to do stands below."),
    some(
      failed.length,
      "delivery has",
      "deliveries have",
      `failed for good: hcqs events retry ${failed[0]?.id} starts ${failed.length === 1 ? "it" : "the newest"} again.`,
    ),
  ];
  const warn = [
    overRateShare >= leastRefusedShare &&
      `${percent(100 * overRateShare)} of requests in ${time} are refused, being over a rate (429)${overRate.length > 0 ? `: most of ${overRate.join(", ")}` : ""}.${fast === undefined ? "" : ` To raise a rate: ${raise(fast, "rate")}`}`,
    overQuotaShare >= leastRefusedShare &&
      `${percent(100 * overQuotaShare)} of requests in ${time} are refused, being over a month's quota (429).`,
    otherShare >= leastRefusedShare &&
      `${percent(100 * otherShare)} of requests in ${time} are refused, being over an address's share of the pages' key (429): PORTAL_ADDRESS_RATE and PORTAL_ADDRESS_DAILY set it.`,
    unauthorizedShare >= leastUnauthorizedShare &&
      `${percent(100 * unauthorizedShare)} of requests in ${time} have no key that works (401).`,
    wrongText(answers, time),
    slow !== undefined && `Answers are slow: 1 % of requests take ${slow} or longer.`,
    exhausted.length > 0 &&
      `${counted(exhausted.length, "account has", "accounts have")} used up the month's quota: ${of(exhausted)}. The next month begins on the first, at 0:00 UTC. To raise a quota before: ${raise(exhausted[0], "quota")}`,
    some(near.length, "account is", "accounts are", `near the month's quota: ${of(near)}.`),
    some(trying, "delivery is", "deliveries are", "being retried."),
  ];
  const shown = Object.entries({ bad, warn }).flatMap(([level, texts]) =>
    texts.flatMap((text) => (text === false ? [] : [[level, text]])),
  );
  if (shown.length === 0) return html`<p class="attention quiet">Nothing needs attention.</p>`;
  return html`<ul class="attention" aria-label="Needs attention">${shown.map(([level, text]) => html`<li class=${level}>${text}</li>`)}</ul>`;
}
