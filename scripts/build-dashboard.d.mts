export function isDashboardBuilt(root?: string): boolean;
export function ensureDashboard(root?: string): Promise<void>;
