// Recent lines of the log: a level, a search in what is loaded, and follow mode, which shows new lines as they come.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount, formatExactTimestamp } from '../../core/format.ts';
import { indentJson } from '../../core/json-text.ts';
import { Button, Empty, Loading } from '../../ui/parts.tsx';
import type { PageProps } from '../area.ts';
import { showParameters } from './address.ts';
import { formatTime } from './figures.ts';
import { FindField } from './find-field.tsx';
import { findLines, levels, type LogLine } from './log-lines.ts';
import { Refusal } from './refusal.tsx';
import { useLog } from './use-log.ts';

export function LogTab({ query }: PageProps): JSX.Element {
  const level = [...levels.keys()].find((each) => each === query.get('_level')) ?? 'debug';
  const find = query.get('_find') ?? '';
  const isFollowing = query.get('_follow') !== '0';
  const showsOwn = query.get('_own') === '1';
  const { lines, isLoading, error, hasOlder, loadOlder, reload } = useLog(level, isFollowing);
  const shown = findLines(lines, find).filter(({ isOwn }) => showsOwn || !isOwn);
  return (
    <>
      <div class="toolbar">
        <label class="inline-field">
          Level{' '}
          <select value={level} onChange={(event) => showParameters(query, { _level: event.currentTarget.value })}>
            {[...levels].map(([each, label]) => (
              <option key={each} value={each}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <FindField
          label="Find in the loaded lines"
          placeholder="Words in the loaded lines"
          value={find}
          onChange={(text) => showParameters(query, { _find: text })}
        />
        <button
          type="button"
          aria-pressed={isFollowing}
          title="Shows new lines as they come"
          onClick={() => showParameters(query, { _follow: isFollowing ? '0' : '' })}
        >
          Follow
        </button>
        <Button onClick={reload}>Refresh</Button>
        <label class="check-label">
          <input
            type="checkbox"
            checked={showsOwn}
            onChange={(event) => showParameters(query, { _own: event.currentTarget.checked ? '1' : '' })}
          />{' '}
          Requests of these pages
        </label>
        <span class="total">
          {formatCount(shown.length)} of {formatCount(lines.length)} loaded lines
        </span>
      </div>
      {error === undefined ? null : <Refusal error={error} onRetry={reload} />}
      {shown.length > 0 ? (
        <ol class="log" aria-label="Lines, newest first">
          {shown.map((line) => (
            <LineItem key={line.id} line={line} />
          ))}
        </ol>
      ) : isLoading ? (
        <Loading />
      ) : error === undefined ? (
        <Empty>{lines.length === 0 ? 'The log has no lines of this level.' : 'None of the loaded lines match.'}</Empty>
      ) : null}
      {hasOlder ? <Button onClick={loadOlder}>Show older lines</Button> : null}
    </>
  );
}

/** A line, which opens as JSON. */
function LineItem({ line }: { readonly line: LogLine }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <time title={formatExactTimestamp(String(line.time))}>{formatTime(line.time)}</time>{' '}
          <span class={`badge level ${line.level}`}>{line.level}</span>{' '}
          <span class="line">
            <bdi>{line.message}</bdi> <bdi class="quiet">{line.details}</bdi>
          </span>
        </summary>
        {isOpen ? (
          <pre tabIndex={0} aria-label="The line as JSON">
            {indentJson(line.text)}
          </pre>
        ) : null}
      </details>
    </li>
  );
}
