/**
 * Files that are dropped anywhere on the page: beside the place that is meant for them the browser would open them instead, and leave the page.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

/** @returns whether something is being dragged over the page */
export function useDrop(take: (files: readonly File[]) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => {
      // Also said whenever the pointer goes from one element to the next.
      if (event.relatedTarget === null) setIsOver(false);
    };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setIsOver(false);
      const files = filesOf(event.dataTransfer);
      if (files.length > 0) latest.current(files);
    };
    const listeners = { dragover: over, dragleave: leave, drop } as const;
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener as EventListener);
    };
  }, []);
  return isOver;
}

/** Without folders, which look like files until somebody reads them. */
function filesOf(data: DataTransfer | null): File[] {
  const items = [...(data?.items ?? [])].filter(({ kind }) => kind === 'file');
  return items.flatMap((item) => (item.webkitGetAsEntry()?.isDirectory ? [] : (item.getAsFile() ?? [])));
}
