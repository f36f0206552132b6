// A search in what is loaded. The address has the words a moment after the last key, so that reload and links keep them.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface FindFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

const pauseMilliseconds = 200;

export function FindField({ label, placeholder, value, onChange }: FindFieldProps): JSX.Element {
  const [typed, setTyped] = useState(value);
  const change = useRef(onChange);
  change.current = onChange;
  /** The words that the address has from here; others come from Back or a link. */
  const sent = useRef(value);
  useEffect(() => {
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      change.current(typed);
    }, pauseMilliseconds);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      type="search"
      class="find"
      aria-label={label}
      placeholder={placeholder}
      autocomplete="off"
      spellcheck={false}
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
    />
  );
}
