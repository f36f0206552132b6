// Fields for a principal, which suggest you, everyone, groups and accounts, and accept any other text. The picker adds what is
// chosen, and asks before it adds an unknown principal.
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Place } from '../core/places.ts';
import { suggestPrincipals, type Among, type PrincipalCheck, type Suggestion } from '../core/principals.ts';
import { useApp } from './app-context.ts';
import { ask } from './dialog.tsx';
import { Button, shortUser } from './parts.tsx';
import './principal-picker.css';

/** Pause after the last key before suggestions are loaded. */
const pauseMilliseconds = 150;
/** Maximum length of a principal that is typed. */
const textLimit = 1000;

const placeholders: Readonly<Record<Among, string>> = {
  all: 'you, everyone, a group, an account, a user id',
  members: 'you, an account, a user id',
  authors: 'any user',
};

interface SuggestionProps {
  readonly label: string;
  /** The object that the principal is for; `[]` is the service. */
  readonly place: Place;
  readonly among?: Among;
  /** Principals that are suggested as well. */
  readonly known?: readonly string[];
}

export interface PrincipalFieldProps extends SuggestionProps {
  readonly value: string;
  readonly onInput: (text: string) => void;
  /** Called with the chosen suggestion, or with the typed text when Enter is pressed. Without it, a choice is an input. */
  readonly onPick?: (principal: string) => void;
  readonly field?: RefObject<HTMLInputElement | null>;
  readonly hint?: string;
  /** Shown behind the field. */
  readonly children?: ComponentChildren;
}

export function PrincipalField(props: PrincipalFieldProps): JSX.Element {
  const { label, place, among = 'all', known = [], value: typed, onInput, onPick, field, hint, children } = props;
  const { api, service } = useApp();
  const id = useId();
  const [found, setFound] = useState<readonly Suggestion[]>([]);
  const [active, setActive] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const latest = useRef({ found, active });
  latest.current = { found, active };
  useEffect(() => {
    if (!isOpen) return;
    const left = new AbortController();
    const look = async (): Promise<void> => {
      const text = typed.trim();
      const next = await suggestPrincipals(api, service, { text, place, among, known, signal: left.signal });
      if (left.signal.aborted) return;
      // The chosen row stays chosen, wherever it is now.
      const chosen = latest.current.found[latest.current.active]?.principal;
      setFound(next);
      setActive(chosen === undefined ? -1 : next.findIndex(({ principal }) => principal === chosen));
    };
    const timer = setTimeout(() => void look().catch(() => setFound([])), pauseMilliseconds);
    return () => {
      clearTimeout(timer);
      left.abort();
    };
  }, [typed, isOpen]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  const pick = (principal: string): void => {
    setOpen(false);
    (onPick ?? onInput)(principal);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      if (isOpen) setActive((active + step + found.length + (active < 0 && step < 0 ? 1 : 0)) % found.length);
      else setOpen(true);
    }
    if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      setOpen(false);
    }
    if (event.key === 'Enter') {
      const chosen = isOpen ? found[active]?.principal : undefined;
      setOpen(false);
      if (chosen === undefined && onPick === undefined) return;
      // The form around it is not sent.
      event.preventDefault();
      pick(chosen ?? typed);
    }
  };
  // What is typed already is no suggestion. The list would only cover what follows the field.
  const isShown = isOpen && found.some(({ principal }) => principal !== typed.trim());
  return (
    <div class="picker">
      <label for={id}>{label}</label>
      <div class="picker-row">
        <input
          ref={field ?? null}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
          placeholder={placeholders[among]}
          autocomplete="off"
          spellcheck={false}
          maxLength={textLimit}
          value={typed}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onInput={(event) => {
            onInput(event.currentTarget.value);
            setActive(-1);
            setOpen(true);
          }}
          onKeyDown={onKeyDown}
        />
        {children}
      </div>
      {hint === undefined ? null : <small>{hint}</small>}
      <ul id={`${id}-list`} role="listbox" aria-label="Suggestions" ref={list} hidden={!isShown}>
        {found.map(({ principal, note }, index) => (
          // The field keeps the focus; its keys move through the rows.
          <li
            key={principal}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            title={principal}
            onMouseDown={(event) => event.preventDefault()}
            onMouseMove={() => setActive(index)}
            onClick={() => pick(principal)}
          >
            <span>{shortUser(principal)}</span> <small>{note}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

export interface PrincipalPickerProps extends SuggestionProps {
  readonly check: PrincipalCheck;
  readonly onPick: (principal: string) => void;
  /** Called with what is typed and not yet added. */
  readonly onTyped?: (text: string) => void;
  /** Label of the button. */
  readonly action?: string;
}

export function PrincipalPicker({
  check,
  onPick,
  onTyped,
  action = 'Add',
  ...others
}: PrincipalPickerProps): JSX.Element {
  const [typed, setText] = useState('');
  const field = useRef<HTMLInputElement>(null);
  // The check before a choice takes a request: the next principal may have been typed, or chosen, by then.
  const latest = useRef({ typed: '', onPick });
  latest.current.onPick = onPick;
  const setTyped = (text: string): void => {
    latest.current.typed = text;
    setText(text);
    onTyped?.(text);
  };
  const add = async (text: string): Promise<void> => {
    const principal = text.trim();
    if (principal === '') return;
    const before = latest.current.typed;
    const fault = await check(principal);
    if (fault !== undefined && !(await isMeant(principal, fault))) {
      field.current?.focus();
      return;
    }
    if (latest.current.typed === before) setTyped('');
    latest.current.onPick(principal);
  };
  return (
    <PrincipalField
      {...others}
      value={typed}
      onInput={setTyped}
      onPick={(text) => void add(text)}
      field={field}
      hint="Colleagues find their user id in the console, behind the name in the bar."
    >
      <Button disabled={typed.trim() === ''} onClick={() => add(typed)}>
        {action}
      </Button>
    </PrincipalField>
  );
}

function isMeant(principal: string, fault: string): Promise<boolean> {
  return ask({
    title: 'Add an unknown principal?',
    text: `${principal} ${fault}. The service accepts it, but no request will match it.`,
    yes: 'Add it nevertheless',
    no: 'Correct it',
  });
}
