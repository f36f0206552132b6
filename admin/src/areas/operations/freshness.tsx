// How current a view is: when it was loaded, and a note when the service does not respond.
import type { JSX } from 'preact';
import { Button } from '../../ui/parts.tsx';
import { formatTime } from './figures.ts';
import { isRefusal, Refusal } from './refusal.tsx';
import type { Fresh } from './use-fresh.ts';

export function Freshness({ fresh }: { readonly fresh: Fresh<unknown> }): JSX.Element {
  const { error, value, loadedAt, reload } = fresh;
  if (error !== undefined && (value === undefined || isRefusal(error)))
    return <Refusal error={error} onRetry={reload} />;
  return (
    <div class="freshness">
      <span class="quiet" role="status">
        {error === undefined || loadedAt === undefined ? (
          ''
        ) : (
          <strong class="fault">
            The service does not respond. These figures are of {formatTime(loadedAt)}; they continue when it responds.
          </strong>
        )}
      </span>
      {error === undefined && loadedAt !== undefined ? <span class="quiet">As of {formatTime(loadedAt)}</span> : null}
      <Button class="small" onClick={reload}>
        Refresh
      </Button>
    </div>
  );
}
