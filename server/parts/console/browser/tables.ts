import type { ComponentChildren } from "preact";
import { counted, percent, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import type { State } from "../state.ts";

/** Shows tables of data versions, files, accounts and events. */

type Props = { state: State };

interface AccountsProps extends Props {
  /** Name of the period of `refusedBy`, such as "an hour". */
  range: string;
  refusedBy: Readonly<Record<string, number>>;
}

const time = (iso: string | null) => (iso === null ? "now" : new Date(iso).toLocaleString());

interface RowsProps {
  title: string;
  /** Names of the columns. A `#` before a name means that the column has numbers. */
  heads: string[];
  rows: ComponentChildren[][];
}

export function Rows({ title, heads, rows }: RowsProps) {
  const columns = heads.map((head) => ({
    name: head.replace("#", ""),
    side: head.startsWith("#") ? "number" : "",
  }));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${title}><table>
    <thead><tr>${columns.map(({ name, side }) => html`<th scope="col" class=${side}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell, i) => html`<td class=${columns[i].side} data-name=${columns[i].name}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

function Table({ about, none, ...rows }: RowsProps & { about?: string; none: string }) {
  return html`<section class="card"><header><h2>${rows.title}</h2>${about && html`<p class="about quiet">${about}</p>`}</header>
    ${rows.rows.length === 0 ? html`<p class="quiet">${none}</p>` : html`<${Rows} ...${rows} />`}
  </section>`;
}

export function Refused({ state: { refused, server } }: Props) {
  if (refused.length === 0) return null;
  const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
  const rows = refused.map(({ file, at, reason, version, isServed, isLost }) => [
    html`<code>${file}</code>`,
    version === null
      ? "none"
      : html`${version}: ${isServed ? "served, from memory" : html`<span class=${isLost ? "bad" : ""}>not served${isLost && ", though it was before"}</span>`}`,
    time(at),
    html`<span class="bad">${reason}</span>`,
    isServed
      ? "Replace the file with a good copy. Don't remove it, and don't restart before that: the version would be gone."
      : html`Replace the file with a good copy, or remove it: <code>rm ${quoted(`${server.datasets}/${file}`)}</code>`,
  ]);
  return html`<${Table} title="Refused files" about="To replace a file, copy it under a name that doesn't end in .parquet, and rename it when it is whole." heads=${["File", "Version", "Since", "Why", "What to do"]}
    rows=${rows} none="" />`;
}

const noStates = ["DC", "AS", "GU", "MP", "PR", "VI"];

/** Counts the states and lists the other codes: `49 states, DC, PR`. */
export function coverageText(codes: readonly string[]): string {
  const others = noStates.filter((code) => codes.includes(code));
  return [counted(codes.length - others.length, "state", "states"), ...others].join(", ");
}

export function Versions({ state: { versions } }: Props) {
  const rows = versions.map((version) => [
    html`<strong>${version.version}</strong> ${version.status}`,
    version.title,
    whole(version.rows),
    `${whole(version.priced_rows)} (${percent((100 * version.priced_rows) / version.rows)})`,
    whole(version.facilities),
    whole(version.procedures),
    html`<details><summary>${coverageText(version.states)}</summary><ul>${version.missing_states.map(({ state, reason }) => html`<li>${state}: ${reason}</li>`)}</ul></details>`,
    `${(version.bytes / 2 ** 20).toFixed(1)} MiB`,
    time(version.loaded_at),
  ]);
  return html`<${Table} title="Data versions" heads=${["Version", "Title", "#Rows", "#Priced", "#Facilities", "#Procedures", "Coverage", "#Memory", "Loaded"]}
    rows=${rows} none="none" />`;
}

export function Accounts({ state: { accounts, all_accounts }, range, refusedBy }: AccountsProps) {
  const rows = accounts.map(({ name, plan, used, quota, burst, keys }) => {
    const share = used / quota;
    const level = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
    return [
      name,
      plan,
      html`<meter min="0" max="1" low="0.8" high="0.999" optimum="0" value=${Math.min(1, share)} aria-label=${`used by ${name}`}></meter> <span class=${level}>${percent(100 * share)}</span>`,
      whole(used),
      whole(quota),
      whole(burst),
      whole(Math.round(refusedBy[name] ?? 0)),
      whole(keys),
    ];
  });
  const about =
    all_accounts > accounts.length
      ? `the ${accounts.length} that have used the largest share, of ${whole(all_accounts)}`
      : "by the share of the month's quota that is used";
  return html`<${Table} title="Accounts" about=${about} heads=${["Account", "Plan", "Used of the quota", "#Used", "#Quota", "#Per second", `#Refused in ${range}`, "#Keys"]} rows=${rows} none="There is no account." />`;
}

export function Events({ state: { events } }: Props) {
  const level = { failed: "bad", pending: "warn", delivered: "good" } as Record<string, string>;
  const isOpen = (state: string) => ["failed", "pending"].includes(state);
  // Each channel delivers an account's events in order, so a later event waits for the first pending one.
  const firstOf = ({ account, channel }: (typeof events)[number]) =>
    events.findLast((one) => one.account === account && one.channel === channel && one.state === "pending");
  const nextTry = (event: (typeof events)[number]) => {
    if (event.next_try_at === null) return "";
    const first = firstOf(event) ?? event;
    return first === event ? time(event.next_try_at) : `after ${first.threshold} % is delivered`;
  };
  const rows = events
    .toSorted((a, b) => Number(isOpen(b.state)) - Number(isOpen(a.state)))
    .map((event) => {
      const { account, threshold, created_at, channel, state, tries, last_answer } = event;
      return [
        account,
        `${threshold} %`,
        time(created_at),
        channel ?? "",
        html`<span class=${level[state] ?? ""}>${state}</span>`,
        whole(tries),
        nextTry(event),
        last_answer ?? "",
      ];
    });
  return html`<${Table} title="Events" about="quota events and their deliveries; failed and pending ones first" heads=${["Account", "Quota used", "At", "By", "Delivery", "#Tries", "Next try", "Last answer"]} rows=${rows} none="No account has used 80 % of its quota." />`;
}
