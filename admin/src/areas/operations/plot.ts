// Lines over time on a canvas, drawn with uPlot. A module of its own, so that uPlot is loaded with the first chart. uPlot
// sets styles through the object model of the page, which the policy of the console allows.
import uPlot from 'uplot';

/** How a line is drawn: the variable of its colour, and its dashes, so that colours are not needed to tell lines apart. */
export interface Stroke {
  readonly color: string;
  readonly dash: readonly number[];
}

export interface PlotData {
  /** Moments of the values, in milliseconds, ascending. */
  readonly times: readonly number[];
  /** Values of each line; `null` is a gap. */
  readonly lines: readonly (readonly (number | null)[])[];
}

export interface PlotOptions {
  readonly host: HTMLElement;
  readonly strokes: readonly Stroke[];
  readonly data: PlotData;
  readonly format: (value: number) => string;
  readonly isWhole: boolean;
  /** Reports the index of the value below the pointer; `undefined` when the pointer leaves. */
  readonly onPoint: (index: number | undefined) => void;
}

export interface Plot {
  readonly setData: (data: PlotData) => void;
  readonly destroy: () => void;
}

/** Height of a chart in pixels. */
const height = 170;
/** Width of a digit on the axes in pixels, and the gap between label and line. */
const digitWidth = 6.5;
const labelGap = 14;

/** Height of the axis of time in pixels. */
const timeHeight = 28;

/** Minimum span of the axis of time in milliseconds: the first minutes after a start are at its end. */
const minSpan = 5 * 60_000;
/** Distances between labels of the axis of time, in milliseconds. */
const timeSteps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720].map((minutes) => minutes * 60_000);
/** Distances between labels of axes with whole numbers. */
const wholeSteps = Array.from({ length: 15 }, (_value, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

export function createPlot({ host, strokes, data, format, isWhole, onPoint }: PlotOptions): Plot {
  const style = getComputedStyle(host);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const font = `11px ${style.fontFamily}`;
  const axis = {
    font,
    stroke: () => color('--quiet'),
    grid: { stroke: () => color('--line'), width: 1 },
    ticks: { show: false },
  };
  const options = (): uPlot.Options => ({
    width: Math.max(host.clientWidth, 1),
    height,
    ms: 1,
    legend: { show: false },
    // The pointer marks the same moment in all charts. Nothing is selected by dragging.
    cursor: { sync: { key: 'operations' }, drag: { x: false, y: false }, y: false, points: { size: 7 } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
    scales: {
      x: { range: ({ data: [shown] }) => spanOf(shown) },
      y: { range: (_plot, _low, high) => uPlot.rangeNum(0, high > 0 ? high : 1, 0.1, true) },
    },
    axes: [
      {
        ...axis,
        space: 56,
        size: timeHeight,
        incrs: timeSteps,
        values: (_plot, splits) => splits.map((split) => hours.format(split)),
      },
      {
        ...axis,
        ...(isWhole ? { incrs: wholeSteps } : {}),
        space: 34,
        size: (_plot, labels) => widthOf(labels),
        values: (_plot, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      ...strokes.map((stroke) => ({
        stroke: () => color(stroke.color),
        width: 1.5,
        dash: [...stroke.dash],
        // A value between gaps has no line.
        points: {
          show: true,
          size: 5,
          fill: () => color(stroke.color),
          filter: (drawn: uPlot, index: number) => lonely(drawn.data[index] ?? []),
        },
      })),
    ],
  });
  let current = aligned(data);
  let plot = new uPlot(options(), current, host);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  // uPlot reads the colours once.
  const redraw = (): void => {
    plot.destroy();
    plot = new uPlot(options(), current, host);
  };
  scheme.addEventListener('change', redraw);
  const observer = new ResizeObserver(() => {
    if (host.clientWidth > 0) plot.setSize({ width: host.clientWidth, height });
  });
  observer.observe(host);
  return {
    setData: (next) => {
      current = aligned(next);
      plot.setData(current);
    },
    destroy: () => {
      observer.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.destroy();
    },
  };
}

/** Returns the width of an axis. Despite its type, uPlot has no labels before the first drawing. */
function widthOf(labels: readonly string[] | null): number {
  return Math.max(...(labels ?? []).map(({ length }) => length), 1) * digitWidth + labelGap;
}

/** Returns the ends of the axis of time. */
function spanOf(times: ArrayLike<number>): [number, number] {
  const last = times[times.length - 1] ?? 0;
  return [Math.min(times[0] ?? last, last - minSpan), last];
}

/** Returns the indices of values without neighbours. */
function lonely(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number): boolean => values[index] === null || values[index] === undefined;
  return Array.from(values, (_value, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  );
}

function aligned({ times, lines }: PlotData): uPlot.AlignedData {
  return [[...times], ...lines.map((line) => [...line])];
}
