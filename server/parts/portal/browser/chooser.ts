import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../../../shared/browser/html.ts";
import { asFailure } from "./api.ts";
import type { Doubtful, Option } from "./choice.ts";
import { context } from "./context.ts";
import { sentenceOf } from "./form.ts";

/** A text field with a list of suggestions. It follows the combobox pattern of the ARIA Authoring Practices. */

/**
 * Milliseconds without typing before suggestions for a typed text are fetched. An unfinished word often finds nothing.
 */
export const restMs = 250;

/** Id of the suggestion that shows a doubt, and searches for the text. */
const doubtId = "?";

interface ChooserProps {
  label: string;
  /** Text of the current choice; null for none. */
  value: string | null;
  detail?: string | undefined;
  placeholder?: string;
  /**
   * Finds suggestions for a text, or the initial suggestions for an empty text. An error's message is shown. A doubt is
   * the first suggestion, and choosing it calls `search`. But a doubt that is a question is shown above the suggestions.
   */
  find: (text: string) => Promise<Option[] | Doubtful>;
  choose: (option: Option) => void;
  search?: (text: string) => void;
  class: string;
}

export function Chooser(props: ChooserProps) {
  const { label, value, detail, placeholder, find, choose, search, class: more } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLUListElement>(null);
  /** The typed text; null while the field shows the current choice. */
  const [text, setText] = useState(() => context.typedIn(more));
  const [found, setFound] = useState<(Doubtful & { of: string }) | null>(null);
  const [message, setMessage] = useState("");
  const [active, setActive] = useState(-1);
  const [isCut, setCut] = useState(false);
  /** A text that the visitor confirmed before its suggestions arrived, and the pressed key: Enter or Tab. */
  const entered = useRef<{ text: string; key: string } | null>(null);
  const isTouch = useRef(false);
  const options = found?.options;
  const isOpen = text !== null && (found !== null || message !== "");
  /** Index of the option that Enter chooses; -1 for none. It is 0 after typing, unless the doubt is a question. */
  const chosen = active === -1 && text?.trim() && !found?.isQuestion ? 0 : active;

  useEffect(() => {
    if (text === null) return;
    let isOver = false;
    const ask = async () => {
      try {
        const answer = await find(text.trim());
        if (isOver) return;
        const {
          options: matches,
          doubt,
          isQuestion,
        }: Doubtful = Array.isArray(answer) ? { options: answer, doubt: "" } : answer;
        const said = { id: doubtId, title: doubt, detail: "See more" };
        const options = doubt === "" || isQuestion ? matches : [said, ...matches];
        const by = entered.current?.text === text ? entered.current.key : null;
        const option =
          by === "Enter" ? (isQuestion ? said : options[0]) : by === "Tab" ? exact(options, text) : undefined;
        if (option) pick(option, text);
        else show({ of: text, options, doubt, isQuestion });
      } catch (error) {
        if (!isOver) show(null, sentenceOf(asFailure(error)));
      }
    };
    const timer = setTimeout(ask, text === "" ? 0 : restMs);
    return () => {
      clearTimeout(timer);
      isOver = true;
    };
  }, [text]);
  useLayoutEffect(() => {
    // While somebody types, the field keeps its height, so the text isn't measured.
    if (input.current && text === null) setCut(input.current.scrollWidth > input.current.clientWidth);
    // Selects the text, like the Tab key, so that typing replaces it.
    if (text === null && document.activeElement === input.current) input.current?.select();
  }, [text, value]);
  useEffect(() => {
    list.current?.querySelectorAll('[role="option"]')[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const close = () => {
    entered.current = null;
    setText(null);
    setFound(null);
    setMessage("");
    setActive(-1);
  };
  const show = (suggestions: typeof found, why = "") => {
    // The visitor may have left the field during the search.
    if (document.activeElement !== input.current) return close();
    entered.current = null;
    setFound(suggestions);
    setMessage(why);
    setActive(-1);
  };
  const pick = (option: Option, of = text ?? "") => {
    close();
    if (option.id === doubtId) search?.(of.trim());
    else choose(option);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const count = options?.length ?? 0;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (text === null) setText("");
      else if (count > 0) {
        const step = event.key === "ArrowDown" ? 1 : -1;
        setActive((active === -1 && step === -1 ? count : active + step + count) % count);
      }
    } else if (["Enter", "Tab"].includes(event.key) && text !== null) {
      if (event.key === "Enter") event.preventDefault();
      const isChosen = event.key === "Enter" || active >= 0;
      const option = isChosen ? options?.[chosen] : exact(options ?? [], text);
      const isAnswered = found?.of === text || message !== "";
      if (!isAnswered) entered.current = text.trim() === "" ? null : { text, key: event.key };
      else if (option) pick(option);
      else if (isChosen && found?.isQuestion) pick({ id: doubtId, title: "" });
    } else if (event.key === "Escape" && text !== null) {
      event.preventDefault();
      close();
    }
  };
  const optionId = (i: number) => `${id}-${i}`;
  return html`<div class=${`field ${more}`}>
    <label for=${id}>${label}</label>
    <input
      id=${id}
      ref=${input}
      name=${more}
      type="text"
      role="combobox"
      autocomplete="off"
      spellcheck=${false}
      aria-expanded=${isOpen}
      aria-controls=${`${id}-list`}
      aria-autocomplete="list"
      aria-activedescendant=${isOpen && chosen >= 0 && options?.length ? optionId(chosen) : undefined}
      value=${text ?? value ?? ""}
      placeholder=${text === null ? placeholder : (value ?? placeholder)}
      title=${value ?? undefined}
      onInput=${(event: InputEvent & { currentTarget: HTMLInputElement }) => {
        setText(event.currentTarget.value);
        setMessage("");
      }}
      onClick=${() => text === null && setText("")}
      onKeyDown=${onKeyDown}
      onBlur=${() => entered.current === null && close()}
    />
    ${(detail || isCut) && html`<small class=${`detail quiet ${text === null ? "" : "away"}`}>${[isCut && value, detail].filter(Boolean).join(" · ")}</small>`}
    <ul id=${`${id}-list`} ref=${list} role="listbox" aria-label=${label} hidden=${!isOpen || !options?.length} tabindex="-1">
      ${found?.isQuestion && html`<li role="presentation" class="group">${found.doubt}</li>`}${options?.map(
        (option, i) => html`${
          option.group !== undefined &&
          option.group !== options[i - 1]?.group &&
          html`<li role="presentation" class="group">${option.group}</li>`
        }<li
          key=${option.id}
          id=${optionId(i)}
          role="option"
          class=${option.id === doubtId ? "group" : undefined}
          aria-selected=${i === chosen}
          onPointerDown=${({ pointerType }: PointerEvent) => {
            isTouch.current = pointerType === "touch";
          }}
          onMouseDown=${(event: MouseEvent) => {
            event.preventDefault();
            pick(option);
            // A phone's on-screen keyboard would cover the answer.
            if (isTouch.current) input.current?.blur();
          }}
        >
          <span>${marked(option.title, option.mark)}</span>${option.figure && html`<span class="number">${option.figure}</span>`}
          ${option.detail && html`<small class="quiet">${marked(option.detail, option.mark)}</small>`}
        </li>`,
      )}
    </ul>
    <p class="unseen" role="status">${text === null ? "" : found?.doubt}</p>
    <p class="said" role="status" hidden=${message === "" || text === null}>${text === null ? "" : message}</p>
  </div>`;
}

/**
 * Finds the option whose id or title equals a text. Unless an arrow key was pressed, Tab chooses only such an option:
 * a visitor who leaves the field may not want a suggestion.
 */
const exact = (options: readonly Option[], text: string) =>
  options.find(
    ({ id, title }) =>
      text.trim() !== "" && [id, title].some((one) => one.toLowerCase() === text.trim().toLowerCase()),
  );

function marked(text: string, by = "") {
  const words = by.match(/[\p{L}\p{N}]{2,}/gu) ?? [];
  if (words.length === 0) return text;
  return text
    .split(new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu"))
    .map((part, i) => (i % 2 === 1 ? html`<mark>${part}</mark>` : part));
}
