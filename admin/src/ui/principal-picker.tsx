// The field that adds a principal: suggests you, everyone, groups and accounts, accepts any other text, and asks before it
// adds an unknown principal.
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Place } from '../core/places.ts';
import { suggestPrincipals, type PrincipalCheck, type Suggestion } from '../core/principals.ts';
import { useApp } from './app-context.ts';
import { ask } from './dialog.tsx';
import { Button, shortUser } from './parts.tsx';
import './principal-picker.css';

/** Pause after the last key before suggestions are loaded. */
const pauseMilliseconds = 150;
/** Maximum length of a principal that is typed. */
const textLimit = 1000;

export interface PrincipalPickerProps {
  readonly label: string;
  /** The object that the principal is for. */
  readonly place: Place;
  /** Whether groups and everyone are left out, as for the members of a group. */
  readonly usersOnly?: boolean;
  readonly check: PrincipalCheck;
  readonly onPick: (principal: string) => void;
  /** Called with what is typed and not yet added. */
  readonly onTyped?: (text: string) => void;
  /** Label of the button. */
  readonly action?: string;
}

export function PrincipalPicker(props: PrincipalPickerProps): JSX.Element {
  const { label, place, usersOnly = false, check, onPick, onTyped, action = 'Add' } = props;
  const { api, service } = useApp();
  const id = useId();
  const [typed, setText] = useState('');
  const setTyped = (text: string): void => {
    setText(text);
    onTyped?.(text);
  };
  const [found, setFound] = useState<readonly Suggestion[]>([]);
  const [active, setActive] = useState(-1);
  const [isOpen, setOpen] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const latest = useRef({ found, active });
  latest.current = { found, active };
  useEffect(() => {
    if (!isOpen) return;
    const left = new AbortController();
    const look = async (): Promise<void> => {
      const text = typed.trim();
      const next = await suggestPrincipals(api, service, { text, place, usersOnly, signal: left.signal });
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
  const add = async (text: string): Promise<void> => {
    const principal = text.trim();
    if (principal === '') return;
    setOpen(false);
    const fault = await check(principal);
    if (fault !== undefined && !(await isMeant(principal, fault))) {
      field.current?.focus();
      return;
    }
    setTyped('');
    onPick(principal);
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
      // The form around it is not sent.
      event.preventDefault();
      void add((isOpen ? found[active]?.principal : undefined) ?? typed);
    }
  };
  const isShown = isOpen && found.length > 0;
  return (
    <div class="picker">
      <label for={id}>{label}</label>
      <div class="picker-row">
        <input
          ref={field}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isShown}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isShown && active >= 0 ? `${id}-${active}` : undefined}
          placeholder={usersOnly ? 'you, an account, a user id' : 'you, everyone, a group, an account, a user id'}
          autocomplete="off"
          spellcheck={false}
          maxLength={textLimit}
          value={typed}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setActive(-1);
            setOpen(true);
          }}
          onKeyDown={onKeyDown}
        />
        <Button disabled={typed.trim() === ''} onClick={() => add(typed)}>
          {action}
        </Button>
      </div>
      <small>Colleagues find their user id in the console, behind the name in the bar.</small>
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
            onClick={() => void add(principal)}
          >
            <span>{shortUser(principal)}</span> <small>{note}</small>
          </li>
        ))}
      </ul>
    </div>
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
