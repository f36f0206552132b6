// Formats the figures of this area: durations, rates, spans of time.
import { formatCount } from '../../core/format.ts';

const times = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** Formats a moment of the last days with seconds; the day only if it is not today. */
export function formatTime(milliseconds: number): string {
  const day = days.format(milliseconds);
  const time = times.format(milliseconds);
  return day === days.format(Date.now()) ? time : `${day}, ${time}`;
}

/** Formats a duration with a suitable unit, in at most four characters. */
export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${Math.round(milliseconds / 1000)} s`;
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${milliseconds >= 10 ? Math.round(milliseconds) : Number(milliseconds.toFixed(1))} ms`;
}

/** Formats a number per second. */
export function formatRate(perSecond: number): string {
  const shown = perSecond >= 10 ? formatCount(Math.round(perSecond)) : String(Number(perSecond.toFixed(2)));
  return `${shown}/s`;
}

/** Formats a span of time with its two largest units. */
export function formatSpan(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor((seconds % 86_400) / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'min'],
    [Math.floor(seconds % 60), 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  if (first === -1) return '0 s';
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}
