// Boxes of a value that move down its rows: the rows that the box before already brought are copied
// inside the scratchpad, only the others come from DRAM.
#pragma once

#include <optional>

#include "kernels/spatial.h"
#include "kernels/tile_builder.h"

namespace berth {

// Whether tiles of so many output rows and columns are worth rolling: the window overlaps itself,
// and the tile is so wide that the second buffer does not only serve its margins.
inline bool RowsRoll(const AxisWindow& rows, int64_t tile_rows, const AxisWindow& columns,
                     int64_t tile_columns) {
  return rows.effective_kernel() > rows.stride && tile_rows < rows.output &&
         (tile_columns == columns.output || tile_columns >= 4 * columns.effective_kernel());
}

class RollingLoader {
 public:
  // `row_axis` is the axis of the value along which boxes overlap; without `rolls` this is
  // TileBuilder::LoadHeld.
  RollingLoader(ValueId value, size_t row_axis, bool rolls, TileBuilder& builder)
      : value_(value), row_axis_(row_axis), rolls_(rolls), builder_(builder) {}

  // While a box is copied from, both tiles are live.
  TileView Load(const Box& box);

 private:
  // Rows that the held tile has from the beginning of `box` on; 0 if it is of no use.
  int64_t SharedRows(const Box& box) const;

  const ValueId value_;
  const size_t row_axis_;
  const bool rolls_;
  TileBuilder& builder_;
  Box held_box_;
  std::optional<TileView> held_;
};

}  // namespace berth
