// Short messages at the bottom of the page. They end with the view that they belong to.
import type { JSX } from 'preact';
import { onLeave } from '../core/router.ts';
import { createStore } from '../core/store.ts';
import { useStore } from './use-store.ts';

const shownMilliseconds = 6000;

const message = createStore('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message. */
export function say(text: string): void {
  message.set(text);
  clearTimeout(timer);
  timer = setTimeout(() => message.set(''), shownMilliseconds);
}

onLeave(() => {
  clearTimeout(timer);
  message.set('');
});

export function Toasts(): JSX.Element {
  const text = useStore(message);
  return (
    <p id="status" role="status" aria-live="polite">
      {text}
    </p>
  );
}
