// A chart over time: lines, a legend that states the figures of each line, and all values as a table.
import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { FailureNote, Scroll } from '../../ui/parts.tsx';
import { formatTime } from './figures.ts';
import type { Plot, PlotData, Stroke } from './plot.ts';

export interface Line {
  readonly label: string;
  /** A value for each moment; `null` where it is unknown. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly title: string;
  /** What the values are, with their unit. */
  readonly unit: string;
  /** Moments of the values, in milliseconds, ascending. */
  readonly times: readonly number[];
  /** At most as many as strokes. */
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** Whether all values are whole numbers. */
  readonly isWhole?: boolean;
}

const strokes: readonly Stroke[] = [
  { color: '--series-1', dash: [] },
  { color: '--series-2', dash: [6, 3] },
  { color: '--series-3', dash: [2, 2] },
  { color: '--series-4', dash: [9, 3, 2, 3] },
  { color: '--series-5', dash: [12, 4] },
  { color: '--series-6', dash: [4, 2] },
];
export const lineLimit = strokes.length;

/** Maximum number of rows of the table of values. */
const rowLimit = 120;

export function Chart({ title, unit, times, lines, format, isWhole = false }: ChartProps): JSX.Element {
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const [point, setPoint] = useState<number | undefined>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const shown = lines.slice(0, lineLimit);
  const data: PlotData = { times, lines: shown.map(({ values }) => values) };
  const latest = useRef({ data, format });
  latest.current = { data, format };
  useEffect(() => {
    let isLeft = false;
    const open = async (): Promise<void> => {
      const { createPlot } = await import('./plot.ts');
      if (isLeft || host.current === null) return;
      plot.current = createPlot({
        host: host.current,
        strokes: strokes.slice(0, shown.length),
        data: latest.current.data,
        format: (value) => latest.current.format(value),
        isWhole,
        onPoint: setPoint,
      });
    };
    open().catch(setError);
    return () => {
      isLeft = true;
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shown.length]);
  useEffect(() => plot.current?.setData(data), [times, lines]);
  const pointed = point === undefined ? undefined : times[point];
  const textOf = (value: number | null | undefined): string =>
    value === null || value === undefined ? '—' : format(value);
  return (
    <section class="chart" aria-labelledby={id}>
      <h2 id={id}>
        {title} <small>{unit}</small>
      </h2>
      <div class="plot" ref={host} aria-hidden="true" />
      <FailureNote error={error} />
      <table class="legend">
        <caption class="hidden">Figures of {title}</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">{pointed === undefined ? 'now' : formatTime(pointed)}</th>
            <th scope="col">lowest</th>
            <th scope="col">highest</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ label, values }, index) => {
            const known = values.filter((value) => value !== null);
            return (
              <tr key={label}>
                <th scope="row" title={label}>
                  <Swatch stroke={strokes[index]} /> {label}
                </th>
                <td>{textOf(point === undefined ? values.at(-1) : values[point])}</td>
                <td>{textOf(known.length === 0 ? null : Math.min(...known))}</td>
                <td>{textOf(known.length === 0 ? null : Math.max(...known))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <details class="values" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          Values<span class="hidden"> of {title}</span>
        </summary>
        {isOpen ? (
          <Scroll label={`Values of ${title}`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">time</th>
                  {shown.map(({ label }) => (
                    <th key={label} scope="col" title={label}>
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {times
                  .map((time, index) => ({ time, index }))
                  .slice(-rowLimit)
                  .toReversed()
                  .map(({ time, index }) => (
                    <tr key={time}>
                      <th scope="row">{formatTime(time)}</th>
                      {shown.map(({ label, values }) => (
                        <td key={label}>{textOf(values[index])}</td>
                      ))}
                    </tr>
                  ))}
              </tbody>
            </table>
          </Scroll>
        ) : null}
      </details>
    </section>
  );
}

/** The line as it is drawn. */
function Swatch({ stroke }: { readonly stroke: Stroke | undefined }): JSX.Element {
  return (
    <svg class="swatch" viewBox="0 0 24 10" width="24" height="10" aria-hidden="true" focusable="false">
      <line
        x1="0"
        y1="5"
        x2="24"
        y2="5"
        stroke={`var(${stroke?.color ?? '--quiet'})`}
        stroke-width="2"
        stroke-dasharray={stroke?.dash.join(' ')}
      />
    </svg>
  );
}
