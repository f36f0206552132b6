// The offer of a draft that an earlier visit left behind.
import type { JSX } from 'preact';
import type { Work } from './hooks.ts';
import { Moment } from './parts.tsx';

export interface DraftNoteProps {
  readonly work: Work;
  /** Version that is edited now. */
  readonly etag: string;
  readonly onRestore: (text: string) => void;
}

export function DraftNote({ work: { draft, discardDraft }, etag, onRestore }: DraftNoteProps): JSX.Element | null {
  if (draft === undefined) return null;
  return (
    <div class="note draft" role="status">
      <span>
        This browser has an unsaved draft from <Moment text={String(draft.time)} />.
        {draft.etag === etag ? '' : ' The object has changed since then.'}
      </span>
      <span class="actions">
        <button type="button" class="small" onClick={() => onRestore(draft.text)}>
          Restore draft
        </button>
        <button type="button" class="small" onClick={discardDraft}>
          Discard draft
        </button>
      </span>
    </div>
  );
}
