import * as d3 from "../../../shared/browser/d3.ts";
import { counted, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { Failure, type UsageAnswer } from "./answers.ts";
import { Card, figuresOf } from "./card.ts";
import { sentenceOf } from "./form.ts";
import { Grid, Steps, useSteps } from "./picture.ts";

/** Shows an account's usage of the current month: in a sentence, as a bar, and by day. */

interface UsageProps {
  usage: UsageAnswer | Failure;
  burst: number;
  retry: () => void;
}

const dayMs = 86_400_000;
const height = 180;
const margin = { top: 12, bottom: 24 };

export const dayOf = (time: string | number) =>
  new Intl.DateTimeFormat("en-US", { day: "numeric", month: "long", timeZone: "UTC" }).format(new Date(time));

export function Usage({ usage, burst, retry }: UsageProps) {
  if (usage instanceof Failure)
    return html`<div class="band wrong" role="alert">
      ${sentenceOf(usage)} Keys and warnings can be changed meanwhile. <button type="button" onClick=${retry}>Try again</button>
    </div>`;
  const { period, quota: month, days } = usage;
  const share = month.limit === 0 ? 1 : Math.min(1, month.used / month.limit);
  const figures = () =>
    figuresOf(
      days,
      ["date", "Day (UTC)", ({ date }) => date],
      ["used", "Requests", ({ used }) => used, whole],
    );
  const level = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "";
  return html`<${Card}
    title="What you have used"
    about=${`requests by day, in UTC; at most ${counted(burst, "request", "requests")} a second`}
    name=${`usage-${period.start.slice(0, 7)}`}
    figures=${figures}
  >
    <p class="figure"><b>${whole(month.used)}</b> of ${whole(month.limit)} this month; ${whole(month.remaining)} left until ${dayOf(period.end)}</p>
    <svg class=${`meter ${level}`} width="100%" height="8" role="img" aria-label=${`${(share * 100).toFixed(1)} % of the month's requests are used`}>
      <rect class="all" width="100%" height="8" rx="4" /><rect class="used" width=${`${share * 100}%`} height="8" rx="4" />
    </svg>
    <${Days} usage=${usage} />
  <//>`;
}

function Days({ usage }: { usage: UsageAnswer }) {
  const { period, days } = usage;
  const steps = useSteps();
  const { active, setActive } = steps;
  const count = Math.round((Date.parse(period.end) - Date.parse(period.start)) / dayMs);
  const most = Math.max(...days.map(({ used }) => used));
  const x = d3.scaleBand(d3.range(count), [0, 100]).padding(0.2);
  const y = d3.scaleLinear([0, Math.max(most, 4)], [height - margin.bottom, margin.top]).nice(3);
  const middle = (day: number) => (x(day) ?? 0) + x.bandwidth() / 2;
  return html`<${Steps}
    label=${`Requests by day; ${whole(most)} on the busiest.`}
    height=${height}
    left=${44}
    right=${4}
    count=${days.length}
      ...${steps}
    noteOf=${(day: number) => ({ x: middle(day), y: `${y(days[day].used)}px`, lines: [counted(days[day].used, "request", "requests"), dayOf(days[day].date)] })}
  >
    <svg class="drawing" height=${height} overflow="visible" aria-hidden="true">
      <${Grid} ticks=${y.ticks(3).filter(Number.isInteger)} y=${y} text=${whole} />
      ${days.map(
        ({ used }, day) => html`<g onPointerEnter=${() => setActive(day)}>
          <rect class="reach" x=${`${x(day)}%`} width=${`${x.step()}%`} y=${margin.top} height=${height - margin.top - margin.bottom} />
          <rect class=${`day ${active === day ? "active" : ""}`} x=${`${x(day)}%`} width=${`${x.bandwidth()}%`} y=${y(used)} height=${y(0) - y(used)} />
        </g>`,
      )}
      ${[0, 7, 14, 21, count - 1].map((day) => html`<text x=${`${middle(day)}%`} y=${height - 6} text-anchor="middle">${day + 1}</text>`)}
    </svg>
  <//>`;
}
