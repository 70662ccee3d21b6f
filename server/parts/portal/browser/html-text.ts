import htm from "htm";
import { type ComponentChild, type ComponentType, Fragment, type VNode } from "preact";
// Unlike `h`, `jsx` doesn't copy the properties.
import { jsx } from "preact/jsx-runtime";

/**
 * Makes elements directly as HTML, for the server. Each template is parsed only once, and drawn by joining its texts. Only
 * components are left for the renderer, because making an object for each element would be the largest cost.
 */

/** Pieces of HTML, and the components between them. The renderer writes the pieces of such a fragment unchanged. */
interface Pieces {
  tpl: string[];
  exprs: ComponentChild[];
}

interface Draft extends Pieces {
  /** The text after the last component. */
  text: string;
}

/** Stands for a value of a template while the template is parsed. */
class Field {
  // The field is private, because a public field would also be copied.
  readonly #index: number;

  get index(): number {
    return this.#index;
  }

  constructor(index: number) {
    this.#index = index;
    // When this object is copied into an element's attributes, it becomes an attribute of this name.
    Object.defineProperty(this, `${mark}${index}`, { value: this, enumerable: true });
  }

  toString(): string {
    return `${mark}${this.index}${mark}`;
  }
}

/** A character that no template's text contains. */
const mark = "\u0000";

interface Element {
  type: string | Field;
  attributes: Record<string, unknown>;
  children: Node[];
}
type Node = string | Field | Element;

const parse = htm.bind<Element>((type, attributes, ...children) => ({
  ...{ type, children },
  attributes: attributes ?? {},
}));

type Values = readonly unknown[];
type Step = (draft: Draft, values: Values) => void;

const steps = new WeakMap<TemplateStringsArray, Step[]>();

/** A template tag like `html`. It never writes an element's `style`, because the content security policy refuses styles. */
export function htmlText(texts: TemplateStringsArray, ...values: unknown[]): VNode {
  let known = steps.get(texts);
  if (known === undefined) {
    const roots: Node | Node[] = parse(texts, ...values.map((_, i) => new Field(i)));
    known = joined([roots].flat().flatMap(stepsOf));
    steps.set(texts, known);
  }
  return fragmentOf(known, values);
}

function fragmentOf(steps: readonly Step[], values: Values): VNode {
  const draft: Draft = { tpl: [], exprs: [], text: "" };
  for (const step of steps) step(draft, values);
  draft.tpl.push(draft.text);
  return jsx<object>(Fragment, draft);
}

/** A step with the text that it adds, if it adds nothing else. `joined` merges adjacent steps of this kind. */
type TextStep = Step & { text?: string };

function textStep(text: string): TextStep {
  const step: TextStep = (draft) => {
    draft.text += text;
  };
  step.text = text;
  return step;
}

function joined(steps: readonly TextStep[]): Step[] {
  const all: TextStep[] = [];
  for (const step of steps) {
    const before = all.at(-1)?.text;
    if (before === undefined || step.text === undefined) all.push(step);
    else all[all.length - 1] = textStep(before + step.text);
  }
  return all;
}

const withoutEnd = new Set(["input", "br", "hr", "img"]);

function stepsOf(node: Node): TextStep[] {
  if (node instanceof Field) return [(draft, values) => add(draft, values[node.index])];
  if (typeof node !== "object") return [textStep(encoded(String(node)))];
  const { type, attributes, children } = node;
  if (typeof type !== "string") return [componentStep(type, attributes, children)];
  return [
    textStep(`<${type}`),
    ...Object.entries(attributes).map(([name, value]) => attributeStep(type, name, value)),
    textStep(">"),
    ...children.flatMap(stepsOf),
    ...(withoutEnd.has(type) ? [] : [textStep(`</${type}>`)]),
  ];
}

function attributeStep(type: string, name: string, value: unknown): TextStep {
  const read = reader(value);
  if (read === undefined) return textStep(attributeText(type, name, value));
  if (name.startsWith(mark))
    return (draft, values) => {
      for (const [own, one] of Object.entries(Object(read(values))))
        draft.text += attributeText(type, own, one);
    };
  return (draft, values) => {
    draft.text += attributeText(type, name, read(values));
  };
}

/** Returns a function that reads an attribute from a template's values; undefined for a fixed attribute. */
function reader(value: unknown): ((values: Values) => unknown) | undefined {
  if (value instanceof Field) return (values) => values[value.index];
  if (typeof value !== "string" || !value.includes(mark)) return undefined;
  const parts = value.split(mark);
  return (values) => parts.map((part, i) => (i % 2 === 0 ? part : String(values[Number(part)]))).join("");
}

function componentStep(type: Field, attributes: Record<string, unknown>, children: readonly Node[]): Step {
  const readers = Object.entries(attributes).map(
    ([name, value]) => [name, reader(value) ?? (() => value)] as const,
  );
  const inside = children.map((child) => {
    if (child instanceof Field) return (values: Values) => values[child.index] as ComponentChild;
    const steps = joined(stepsOf(child));
    return (values: Values): ComponentChild => fragmentOf(steps, values);
  });
  return (draft, values) => {
    const props: Record<string, unknown> = {};
    for (const [name, read] of readers)
      if (name.startsWith(mark)) Object.assign(props, read(values));
      else props[name] = read(values);
    const component = values[type.index] as ComponentType;
    if (inside.length > 0)
      props.children = inside.length === 1 ? inside[0](values) : inside.map((child) => child(values));
    addComponent(draft, jsx(component, props));
  };
}

function addComponent(draft: Draft, component: ComponentChild): void {
  draft.tpl.push(draft.text);
  draft.exprs.push(component);
  draft.text = "";
}

function add(draft: Draft, child: unknown): void {
  if (child === null || child === undefined || typeof child === "boolean") return;
  if (Array.isArray(child)) for (const each of child) add(draft, each);
  else if (typeof child !== "object") draft.text += encoded(String(child));
  else {
    const node = child as VNode<Partial<Pieces>>;
    const { tpl, exprs } = node.props;
    if (tpl === undefined || exprs === undefined) addComponent(draft, node);
    else {
      draft.text += tpl[0];
      for (let i = 0; i < exprs.length; i++) {
        addComponent(draft, exprs[i]);
        draft.text = tpl[i + 1];
      }
    }
  }
}

function attributeText(type: string, name: string, value: unknown): string {
  if (name === "key" || name === "ref" || name === "style" || typeof value === "function") return "";
  // In HTML, the chosen option of a list is marked at the option, not at the list.
  if (value === null || value === undefined || (type === "select" && name === "value")) return "";
  const isWord = name.startsWith("aria-") || name.startsWith("data-") || name === "spellcheck";
  if (value === false && !isWord) return "";
  return value === "" || (value === true && !isWord) ? ` ${name}` : ` ${name}="${encoded(String(value))}"`;
}

const special = /["&<]/;
const names: Readonly<Record<string, string>> = { '"': "&quot;", "&": "&amp;", "<": "&lt;" };
const encoded = (text: string) =>
  special.test(text) ? text.replace(/["&<]/g, (letter) => names[letter]) : text;
