#pragma once
#define TWO 2
